"""`LogReader` at the very moment in which the writer moves files about."""

import pytest

from distributedlog.log import Log, LogReader
from distributedlog.log import reader as reader_module
from distributedlog.log.errors import LogNotFound

CONFIG = {"segment.bytes": "400", "cleanup.policy": "compact,delete"}
KEYS = 12


def fill(log, rounds):
    for number in range(rounds * KEYS):
        log.append(key=b"k%d" % (number % KEYS), value=b"v" * 30)


class Between:
    """Stands in the place of one function of a module, and does something before its n-th call."""

    def __init__(self, function, call_number, work):
        self.function = function
        self.left = call_number
        self.work = work
        self.done = False

    def __call__(self, *arguments):
        if self.left == 0 and not self.done:
            self.done = True
            self.work()
        self.left -= 1
        return self.function(*arguments)


@pytest.mark.parametrize("seen_before", range(3))
def test_a_swap_in_the_middle_of_a_look_at_the_directory_hides_nothing(tmp_path, monkeypatch, seen_before):
    """The first segment still the old one, its neighbour merged into the new one: nothing may be skipped."""
    config = {"segment.bytes": "8000", "cleanup.policy": "compact"}
    with Log(tmp_path, config=config, flush="os") as log, LogReader(tmp_path) as reader:
        fill(log, 10)
        log.compact()
        fill(log, 1)
        reading = reader.read()
        seen = [next(reading).offset for _ in range(2 * KEYS)]  # up to the end, every file open
        fill(log, 1)

        def move_on():
            log.compact()
            fill(log, 1)

        hook = Between(reader_module.segment_path, seen_before, move_on)
        monkeypatch.setattr(reader_module, "segment_path", hook)
        found = [record.offset for record in reading]
        assert hook.done
        assert found == list(range(seen[-1] + 1, log.end_offset))


def test_a_newest_segment_that_is_gone_before_it_is_opened_is_looked_for_again(tmp_path, monkeypatch):
    with Log(tmp_path, config={**CONFIG, "cleanup.policy": "delete"}, flush="os") as log:
        fill(log, 1)
        with LogReader(tmp_path) as reader:
            end_offset = log.end_offset

            def move_on():
                fill(log, 2)
                log.delete_before(log.end_offset)

            monkeypatch.setattr(
                reader_module, "segment_path", Between(reader_module.segment_path, 0, move_on)
            )
            assert reader.end_offset == log.end_offset > end_offset
            assert reader.start_offset == log.start_offset


def test_a_segment_that_a_listing_has_missed_is_found_by_the_next(tmp_path, monkeypatch):
    """A system may leave out a name that appears while a directory is read, and give a later one."""
    with Log(tmp_path, config=CONFIG, flush="os") as log, LogReader(tmp_path) as reader:
        fill(log, 4)
        real = reader_module.list_directory
        calls = []

        def with_a_gap(directory):
            found = real(directory)
            if not calls:
                del found.base_offsets[-2]
            calls.append(1)
            return found

        monkeypatch.setattr(reader_module, "list_directory", with_a_gap)
        assert [record.offset for record in reader.read(0)] == list(range(4 * KEYS))


def test_a_directory_that_is_gone_is_named(tmp_path):
    with Log(tmp_path / "log", flush="os") as log:
        log.append(value=b"v")
    with LogReader(tmp_path / "log") as reader:
        (tmp_path / "log" / "log-0").rename(tmp_path / "elsewhere")
        with pytest.raises(LogNotFound, match="there is no log in"):
            _ = reader.end_offset


def test_a_writer_that_rolls_at_every_look_does_not_wear_a_reader_out(tmp_path, monkeypatch):
    with Log(tmp_path, config=CONFIG, flush="os") as log, LogReader(tmp_path) as reader:
        real = reader_module.list_directory

        def beside_a_busy_writer(directory):
            fill(log, 1)
            return real(directory)

        monkeypatch.setattr(reader_module, "list_directory", beside_a_busy_writer)
        assert 0 < reader.end_offset <= log.end_offset
        assert reader.start_offset == 0
