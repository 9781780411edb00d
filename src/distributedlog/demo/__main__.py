"""`python -m distributedlog.demo`."""

import sys

from distributedlog.demo.command import main

sys.exit(main())
