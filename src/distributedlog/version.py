"""The package's version, for whoever must name it without importing anything else of ours."""

from typing import Final

VERSION: Final = "0.1.0"
