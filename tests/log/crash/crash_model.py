"""What must be true of an embedded log after a crash, whatever the crash was."""

from dataclasses import dataclass, field

from distributedlog.log import Log
from distributedlog.log.inspect import inspect
from distributedlog.log.inspect_events import Finding, Severity


@dataclass
class Expected:
    """The history of a log as its users saw it. ``records`` holds all that was ever appended, by offset;
    ``acknowledged`` how far it had to survive, ``deleted`` how far it may be gone."""

    records: dict = field(default_factory=dict)
    acknowledged: int = 0
    deleted: int = 0

    def note(self, offset, key, value, headers, timestamp):
        assert offset not in self.records, f"offset {offset} was given twice"
        self.records[offset] = (key, value, headers, timestamp)


def check_survivors(log, expected, random):
    """Nothing acknowledged is missing, nothing is altered, doubled or out of order; look-ups agree."""
    assert log.start_offset <= expected.deleted
    assert log.end_offset >= expected.acknowledged
    records = [record for record in log.read() if record.offset >= expected.deleted]
    offsets = [record.offset for record in records]
    end_offset = max(log.end_offset, expected.deleted)
    assert offsets == list(range(expected.deleted, end_offset)), f"{log}, {log.recovery}: {offsets}"
    for record in records:
        found = (record.key, record.value, record.headers, record.timestamp)
        assert found == expected.records[record.offset], f"record {record.offset} was altered"
    _check_look_ups(log, random)


def _check_look_ups(log, random):
    """By offset and by time, against a naive scan."""
    records = list(log.read())
    timestamps = {record.timestamp for record in records}
    for timestamp in [0, *random.sample(sorted(timestamps), min(len(timestamps), 12)), 1 << 60]:
        for wanted in (timestamp, timestamp + 1):
            first = next((record.offset for record in records if record.timestamp >= wanted), None)
            assert log.offset_for_time(wanted) == first, f"look-up of time {wanted}"
    for record in random.sample(records, min(len(records), 8)):
        assert next(log.read(record.offset)) == record


def check_goes_on(directory, expected, random, config, **options):
    """Appends continue at the log's end, and a clean close leaves a log that opens without a scan."""
    with Log(directory, config=config, **options) as log:
        check_survivors(log, expected, random)
        end_offset = log.end_offset
        # What was in nobody's hands is gone for good from here on: these offsets are given anew.
        kept = {offset: record for offset, record in expected.records.items() if offset < end_offset}
        after = Expected(kept, expected.acknowledged, max(expected.deleted, log.start_offset))
        for number in range(3):
            fields = (b"after", b"%d" % number, (), 5_000_000 + number)
            offset = log.append(key=fields[0], value=fields[1], timestamp=fields[3])
            assert offset == end_offset + number
            after.note(offset, *fields)
    after.acknowledged = end_offset + 3
    check_no_damage(directory)
    with Log(directory, config=config, **options) as log:
        assert log.recovery.was_clean
        check_survivors(log, after, random)


def check_no_damage(directory):
    """`dlog log verify` has nothing to complain of."""
    damage = [
        event
        for event in inspect(directory, with_records=True)
        if isinstance(event, Finding) and event.severity is Severity.DAMAGE
    ]
    assert damage == [], damage
