import pytest
from tests.broker.fake_scheduler import FakeScheduler

from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.context import Client, RequestContext
from distributedlog.broker.pending import CLOSE_CONNECTION
from distributedlog.broker.quotas import RATES_MAX, Quotas, Rate
from distributedlog.cluster.image import ClusterImage
from distributedlog.wire.k12_heartbeat import HeartbeatResponse

PRODUCE, FETCH, REQUEST = "producer_byte_rate", "consumer_byte_rate", "request_percentage"


class Stage:
    def __init__(self, **config):
        self.scheduler = FakeScheduler()
        self.config = BrokerConfig(**config)
        self.image = ClusterImage()
        self.quotas = Quotas(self)

    def limit(self, value, key=PRODUCE, **entity):
        """Set a quota of ``user`` and/or ``client_id``; None is the default entity."""
        named = tuple(sorted((kind.replace("_", "-"), name) for kind, name in entity.items()))
        self.image = ClusterImage(client_quotas={**self.image.client_quotas, named: {key: value}})

    def produce(self, size, user="alice", client_id="app"):
        return self.quotas.record_produce(context(user, client_id), size)


def context(user="alice", client_id="app"):
    return RequestContext(Client(1, "127.0.0.1", 1, principal=f"User:{user}"), client_id, 0, 9, 0)


@pytest.fixture
def stage():
    return Stage()


# -- rates --------------------------------------------------------------------------------------------------


def test_a_burst_at_the_beginning_is_spread_over_all_samples_but_one():
    rate = Rate(11, 1000)
    rate.record(1000, 0)
    assert rate.per_second(0) == 100
    assert rate.elapsed_ms(0) == 10_000


def test_a_steady_rate_is_what_it_is():
    rate = Rate(11, 1000)
    for now_ms in range(0, 60_000, 100):
        rate.record(10, now_ms)
    assert rate.per_second(59_999) == pytest.approx(100, rel=0.1)


def test_old_samples_are_forgotten():
    rate = Rate(11, 1000)
    rate.record(1000, 0)
    assert rate.per_second(10_999) > 0
    assert rate.per_second(11_000) == 0


def test_one_sample_is_enough():
    rate = Rate(1, 1000)
    rate.record(500, 0)
    assert rate.per_second(0) == 500


# -- throttle times -----------------------------------------------------------------------------------------


def test_without_quotas_nobody_is_throttled(stage):
    assert stage.produce(10**12) == 0


def test_within_the_quota_nobody_is_throttled(stage):
    stage.limit(1000, user="alice")
    assert stage.produce(10_000) == 0


def test_above_it_the_throttle_time_brings_the_rate_back_to_the_quota(stage):
    stage.limit(1000, user="alice")
    assert stage.produce(15_000) == 5_000
    stage.scheduler.advance(5_000)
    assert stage.produce(0) == 5_000
    stage.scheduler.advance(6_000)
    assert stage.produce(0) == 0


def test_a_producer_that_obeys_gets_its_quota_in_the_long_run(stage):
    stage.limit(1000, user="alice")
    sent, start_ms = 0, stage.scheduler.now_ms()
    while stage.scheduler.now_ms() < start_ms + 300_000:
        throttle_ms = stage.produce(700)
        sent += 700
        stage.scheduler.advance(throttle_ms + 10)
    assert sent / 300 == pytest.approx(1000, rel=0.15)


def test_a_fetch_that_was_not_answered_does_not_count(stage):
    stage.limit(1000, FETCH, user="alice")
    assert stage.quotas.record_fetch(context(), 50_000) > 0
    stage.quotas.unrecord_fetch(context(), 50_000)
    assert stage.quotas.record_fetch(context(), 1) == 0


def test_a_fetch_is_kept_to_what_the_quota_allows_in_one_window(stage):
    assert stage.quotas.fetch_bytes_max(context()) is None
    stage.limit(1000, FETCH, user="alice")
    assert stage.quotas.fetch_bytes_max(context()) == 10_000
    assert stage.quotas.record_fetch(context(), 10_000) == 0


def test_time_of_the_thread_is_limited_in_percent_for_one_sample_at_most(stage):
    stage.limit(50, REQUEST, user="alice")
    assert stage.quotas.record_request(context(), 5.0) == 0
    assert stage.quotas.record_request(context(), 0.1) == 200
    assert stage.quotas.record_request(context(), 100.0) == 1_000


def test_the_longer_of_two_throttle_times_is_told(stage):
    stage.limit(1, REQUEST, user="alice")
    for before, after in [(0, 1_000), (500, 1_000), (5_000, 5_000)]:
        response = HeartbeatResponse(before)
        stage.quotas.note_busy(context(), response, 1.0)
        assert response.throttle_time_ms == after


def test_a_response_without_a_throttle_time_is_left_alone(stage):
    stage.limit(1, REQUEST, user="alice")
    for response in (None, CLOSE_CONNECTION):
        stage.quotas.note_busy(context(), response, 1.0)
    assert stage.quotas.record_request(context(), 0) == 1_000


def test_the_window_follows_the_configuration():
    stage = Stage(quota_window_num=3, quota_window_size_seconds=2)
    stage.limit(1000, user="alice")
    assert stage.produce(4_000) == 0
    assert stage.produce(1_000) == 1_000


def test_kinds_of_quotas_do_not_touch_each_other(stage):
    stage.limit(1, PRODUCE, user="alice")
    assert stage.quotas.record_fetch(context(), 10**9) == 0
    assert stage.quotas.record_request(context(), 10) == 0


# -- whose quota counts -------------------------------------------------------------------------------------

PRECEDENCE = [
    {"user": "alice", "client_id": "app"},
    {"user": "alice", "client_id": None},
    {"user": "alice"},
    {"user": None, "client_id": "app"},
    {"user": None, "client_id": None},
    {"user": None},
    {"client_id": "app"},
    {"client_id": None},
]


@pytest.mark.parametrize("position", range(len(PRECEDENCE)))
def test_the_most_exact_quota_counts(stage, position):
    for limit, entity in enumerate(PRECEDENCE[position:], position + 1):
        stage.limit(limit, FETCH, **entity)
    assert stage.quotas.fetch_bytes_max(context()) == 10 * (position + 1)


@pytest.mark.parametrize(
    "entity", [one for one in PRECEDENCE if "alice" in one.values() or "app" in one.values()]
)
def test_a_quota_of_somebody_else_does_not_count(stage, entity):
    stage.limit(1, **entity)
    assert stage.produce(10**9, "bob", "tool") == 0


def test_all_clients_of_a_user_share_his_quota(stage):
    stage.limit(1000, user="alice")
    assert stage.produce(10_000, client_id="one") == 0
    assert stage.produce(1_000, client_id="two") == 1_000


def test_a_default_quota_is_for_each_user_alone(stage):
    stage.limit(1000, user=None)
    assert stage.produce(11_000, "alice") == 1_000
    assert stage.produce(10_000, "bob") == 0


def test_a_default_for_pairs_is_for_each_pair_alone(stage):
    stage.limit(1000, user=None, client_id=None)
    assert stage.produce(11_000, "alice", "one") == 1_000
    assert stage.produce(10_000, "alice", "two") == 0


def test_users_share_the_quota_of_a_client_id(stage):
    stage.limit(1000, client_id="app")
    assert stage.produce(10_000, "alice") == 0
    assert stage.produce(1_000, "bob") == 1_000


def test_a_changed_quota_counts_at_once(stage):
    stage.limit(1000, user="alice")
    assert stage.produce(20_000) == 10_000
    stage.limit(10_000, user="alice")
    assert stage.produce(0) == 0
    stage.image = ClusterImage()
    assert stage.produce(10**9) == 0


def test_a_quota_for_one_thing_leaves_the_default_for_another(stage):
    stage.limit(5, FETCH, user="alice")
    stage.limit(1000, PRODUCE, user=None)
    assert stage.produce(11_000) == 1_000


@pytest.mark.parametrize("limit", [0, 1e-9, 1])
def test_a_throttle_time_always_fits_in_its_field(stage, limit):
    stage.limit(limit, user="alice")
    assert stage.produce(10**9) == 2**31 - 1


def test_endless_client_ids_do_not_fill_the_memory(stage):
    stage.limit(1000, client_id=None)
    for number in range(RATES_MAX + 500):
        stage.produce(1, client_id=f"client-{number}")
    assert len(stage.quotas._rates) <= RATES_MAX
    assert len(stage.quotas._found) <= RATES_MAX
