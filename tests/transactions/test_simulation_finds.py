"""The simulation finds what it is there to find: each fault is planted, some seed stumbles over it."""

from dataclasses import replace

import pytest
from tests.transactions.driver import Driver
from tests.transactions.simulation import Simulation

from distributedlog.transactions import (
    add_partitions,
    end_transaction,
    init_producer_id,
    markers,
    transitions,
)
from distributedlog.transactions.coordinator import TransactionCoordinator
from distributedlog.transactions.metadata import TransactionMetadata
from distributedlog.transactions.states import TransactionState

SEEDS = 400
STEPS = 100


def markers_before_the_decision_is_durable(monkeypatch):
    act = Driver.act

    def hasty(self, outcome):
        plans, outcome.markers = outcome.markers, []
        act(self, outcome)
        self.plans += plans

    monkeypatch.setattr(Driver, "act", hasty)


def the_epoch_does_not_rise_with_the_end(monkeypatch):
    prepared = transitions.prepared

    def flat(metadata, is_commit, client_version, next_producer_id, now_ms):
        step = prepared(metadata, is_commit, client_version, next_producer_id, now_ms)
        return replace(step, producer_epoch=metadata.producer_epoch)

    monkeypatch.setattr(transitions, "prepared", flat)


def the_epoch_of_the_last_transaction_ends_this_one(monkeypatch):
    check = end_transaction._to_be_ended_in_version_2

    def lenient(state, request, out):
        metadata = state.metadata(request.transactional_id, out)
        if metadata is not None and metadata.state is TransactionState.ONGOING:
            return metadata
        return check(state, request, out)

    monkeypatch.setattr(end_transaction, "_to_be_ended_in_version_2", lenient)


def a_restart_forgets_the_markers(monkeypatch):
    monkeypatch.setattr(TransactionCoordinator, "loaded", lambda self, now_ms: self._new_outcome())


def init_producer_id_leaves_the_transaction_open(monkeypatch):
    step = init_producer_id._step

    def lenient(state, context, request, given_id, out):
        metadata = state.metadata(request.transactional_id, out)
        if metadata is not None and metadata.state is TransactionState.ONGOING:
            return replace(metadata, producer_epoch=metadata.producer_epoch + 1)
        return step(state, context, request, given_id, out)

    monkeypatch.setattr(init_producer_id, "_step", lenient)


def a_fenced_producer_may_add(monkeypatch):
    monkeypatch.setattr(
        add_partitions,
        "_checked",
        lambda state, asked, out: state.held_by(asked.transactional_id, asked.producer_id, out),
    )


def partitions_join_while_markers_are_written(monkeypatch):
    def lenient(state, asked, out):
        metadata = state.held_by(asked.transactional_id, asked.producer_id, out)
        if metadata.is_prepared and not asked.verify_only:
            return replace(metadata, state=TransactionState.ONGOING)
        return metadata

    monkeypatch.setattr(add_partitions, "_checked", lenient)


def one_marker_counts_for_all(monkeypatch):
    written = markers.written

    def hasty(state, done, errors, gone, now_ms, out):
        if any(not error for error in errors.values()):
            errors = dict.fromkeys(errors, 0)
        written(state, done, errors, gone, now_ms, out)

    monkeypatch.setattr(markers, "written", hasty)


def an_abort_is_marked_as_a_commit(monkeypatch):
    plan = markers.plan

    def wrong(state, metadata, partitions, out):
        plan(state, metadata, partitions, out)
        out.markers[-1] = out.markers[-1]._replace(is_commit=True)

    monkeypatch.setattr(markers, "plan", wrong)


def what_the_record_says_differs_from_what_is_known(monkeypatch):
    put = TransactionCoordinator.applied

    def forgetful(self, outcome, base_offset):
        put(self, outcome, base_offset)
        for name, metadata in list(self.state.transactions.items()):
            if metadata.state is TransactionState.ONGOING:
                self.state.put(name, replace(metadata, start_ms=metadata.start_ms + 1))

    monkeypatch.setattr(TransactionCoordinator, "applied", forgetful)


def the_next_producer_id_is_not_used(monkeypatch):
    monkeypatch.setattr(
        TransactionMetadata, "client_identity", property(lambda self: (self.producer_id, self.producer_epoch))
    )


def nothing_times_out(monkeypatch):
    monkeypatch.setattr(TransactionMetadata, "is_timed_out", lambda self, now_ms: False)


FAULTS = [
    markers_before_the_decision_is_durable,
    the_epoch_does_not_rise_with_the_end,
    the_epoch_of_the_last_transaction_ends_this_one,
    a_restart_forgets_the_markers,
    init_producer_id_leaves_the_transaction_open,
    a_fenced_producer_may_add,
    partitions_join_while_markers_are_written,
    one_marker_counts_for_all,
    an_abort_is_marked_as_a_commit,
    what_the_record_says_differs_from_what_is_known,
    the_next_producer_id_is_not_used,
    nothing_times_out,
]


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant, monkeypatch):
    plant(monkeypatch)
    for seed in range(1, SEEDS + 1):
        try:
            Simulation(seed).run(STEPS)
        except AssertionError:
            return
    pytest.fail(f"{SEEDS} seeds found nothing")
