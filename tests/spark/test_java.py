import subprocess

import pytest

from distributedlog.spark import java
from distributedlog.spark.errors import NoJava, SparkTooOld


def fake_home(path, version):
    (path / "bin").mkdir(parents=True)
    command = path / "bin" / "java"
    command.write_text("#!/bin/sh\nexit 0\n")
    command.chmod(0o755)
    (path / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return path


def test_java_home_comes_first(tmp_path):
    home = fake_home(tmp_path / "jdk", "21.0.2")
    assert java.find_java_home({"JAVA_HOME": str(home), "PATH": ""}) == home


def test_a_java_home_that_is_too_old_is_named(tmp_path):
    home = fake_home(tmp_path / "jdk", "1.8.0_392")
    with pytest.raises(NoJava, match=r"which is Java 8; Spark needs 17 or later"):
        java.find_java_home({"JAVA_HOME": str(home)})
    with pytest.raises(NoJava, match="there is no bin/java that runs"):
        java.find_java_home({"JAVA_HOME": str(tmp_path)})


def test_the_path_is_next(tmp_path):
    home = fake_home(tmp_path / "jdk", "17.0.1")
    assert java.find_java_home({"PATH": str(home / "bin")}) == home


def test_no_java_at_all_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "_bundled_home", lambda: None)
    old = fake_home(tmp_path / "jdk", "11.0.1")
    with pytest.raises(
        NoJava, match=r"the java on the path is version 11; .*pip install 'distributedlog\[java\]'"
    ):
        java.find_java_home({"PATH": str(old / "bin")})


def test_pips_java_drops_the_module_that_it_lacks():
    home = java.find_java_home({"PATH": ""})
    command = [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dx=a b", "-version"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "openjdk version" in run.stderr


def test_a_spark_that_is_too_old_is_named():
    java.check_spark_version("4.2.0")
    java.check_spark_version("4.10.1-SNAPSHOT")
    with pytest.raises(SparkTooOld, match=r"this is Spark 4\.1\.3; .* needs 4\.2 or later"):
        java.check_spark_version("4.1.3")
