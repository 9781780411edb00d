"""The fixtures, in a pytest of their own: found without any configuration."""

import subprocess
import sys

import pytest

TEN_LINES = """
from confluent_kafka import Consumer, Producer

def test_an_order_comes_back(broker, topic):
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, key="1", value="hello")
    assert producer.flush(10) == 0
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": topic}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(10)
    consumer.close()
    assert (message.key(), message.value()) == (b"1", b"hello")
"""

FIXTURES = """
import pytest

brokers, topics = [], []

@pytest.mark.parametrize("number", [1, 2, "a/b ü"])
def test_topics_differ_and_the_broker_stays(broker, topic, number):
    brokers.append(broker)
    topics.append(topic)
    assert brokers == [broker] * len(brokers)
    assert len(set(topics)) == len(topics)
    assert len(topic) <= 249 and set(topic) <= set("abcdefghijklmnopqrstuvwxyz_0123456789-.")

def test_a_very_long_name_%s(broker, topic):
    assert len(topic) <= 249
""" % ("x" * 300)

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def broker_config():
    return {"num.partitions": "7"}
"""

USES_CONFIG = """
from confluent_kafka.admin import AdminClient

def test_configured(broker, topic):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.list_topics(topic, timeout=10)
    assert len(admin.list_topics(topic, timeout=10).topics[topic].partitions) in (0, 7)
"""

LAZY = """
import sys

def test_nothing_is_imported_for_those_who_do_not_ask():
    ours = {name for name in sys.modules if name.startswith("distributedlog")}
    ours -= {"distributedlog", "distributedlog.version"}
    assert ours == {"distributedlog.testing", "distributedlog.testing.pytest_plugin"}
"""


@pytest.fixture
def run_pytest(tmp_path):
    def run(**files):
        for name, content in files.items():
            (tmp_path / f"{name}.py").write_text(content)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


@pytest.mark.parametrize(
    ("files", "passed"),
    [
        ({"test_it": TEN_LINES}, 1),
        ({"test_it": FIXTURES}, 4),
        ({"conftest": CONFTEST, "test_it": USES_CONFIG}, 1),
        ({"test_it": LAZY}, 1),
    ],
    ids=["ten lines with confluent-kafka", "fresh topics, one broker", "own settings", "lazy"],
)
def test_the_fixtures_are_there_after_installation(run_pytest, files, passed):
    done = run_pytest(**files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{passed} passed" in done.stdout


def test_they_can_be_seen(tmp_path):
    (tmp_path / "test_it.py").write_text("")
    command = [sys.executable, "-m", "pytest", "--fixtures", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "broker [session scope]" in done.stdout
    assert "\ntopic -- " in done.stdout
