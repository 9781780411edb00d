"""The disk fills up at any operation under transactions and leader epochs: state and log stay one."""

import shutil

from tests.log.crash.test_power_loss_partition import CONFIG, NOW_MS, Producers, batches_of, open_directory
from tests.log.faults.faulty_files import FullDisk

from distributedlog.log import AppendOrigin
from distributedlog.log.errors import DiskFull
from distributedlog.log.truncation import truncate_to
from distributedlog.records import BatchBuilder, ControlType, build_control_batch


class Work:
    """Transactions of two producers, most of them aborted; epochs change, and one truncation."""

    def __init__(self, root, files):
        self.root = root
        self.files = files
        self.sequences = {1: 0, 2: 0}
        self.leader_epoch = 0
        self.refused = 0

    def run(self):
        for _ in range(2):
            directory = self.tried(lambda: open_directory(self.root, self.files))
            log = self.tried(lambda: directory.open_log("t", 0, CONFIG))  # noqa: B023
            check(log)
            for number in range(8):
                self.transaction(log, 1 + number % 2, is_abort=number % 3 != 0)
                if number == 5:
                    self.truncate(log)
                if number % 4 == 3:
                    self.leader_epoch += 1
                    self.tried(log.flush)
                    check(log)
            try:
                directory.close()
            except DiskFull:
                self.refused += 1
                self.files.heal()

    def transaction(self, log, producer_id, *, is_abort):
        for _ in range(2):
            builder = BatchBuilder(
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=self.sequences[producer_id],
                is_transactional=True,
            )
            builder.append(NOW_MS, None, b"v" * 60, ())
            batch = bytes(builder.build())
            self.tried(lambda: log.append(bytearray(batch), leader_epoch=self.leader_epoch, now_ms=NOW_MS))  # noqa: B023
            self.sequences[producer_id] += 1
        kind = ControlType.ABORT if is_abort else ControlType.COMMIT
        marker = bytes(build_control_batch(kind, NOW_MS, producer_id=producer_id, producer_epoch=0))
        self.tried(
            lambda: log.append(
                bytearray(marker),
                leader_epoch=self.leader_epoch,
                now_ms=NOW_MS,
                origin=AppendOrigin.COORDINATOR,
            )
        )
        check(log)

    def truncate(self, log):
        self.tried(lambda: truncate_to(log, log.log_end_offset - 1, NOW_MS))
        check(log)
        for producer_id, (_, sequence) in Producers(batches_of(log)).last.items():
            self.sequences[producer_id] = sequence + 1

    def tried(self, action):
        try:
            return action()
        except DiskFull:
            self.refused += 1
            self.files.heal()
            return action()


def check(log):
    batches = batches_of(log)
    known = Producers(batches)
    aborted = [tuple(found[:3]) for found in log.aborted_transactions(0, log.log_end_offset)]
    assert sorted(aborted) == sorted(known.aborted)
    assert {
        entry.producer_id: (entry.producer_epoch, entry.last_sequence)
        for entry in log.producer_states.entries()
    } == known.last
    assert dict(log.leader_epochs.entries) == known.epochs


def test_wherever_the_disk_fills_up_transactions_and_epochs_stay_true(memory_path):
    files = FullDisk()
    Work(memory_path / "none", files).run()
    operations = files.count
    refused = 0
    for number in range(operations):
        root = memory_path / f"{number}"
        files = FullDisk(number)
        work = Work(root, files)
        try:
            work.run()
            files.heal()
            with open_directory(root, files) as directory:
                check(directory.open_log("t", 0, CONFIG))
        except Exception as error:
            error.add_note(f"full from operation {number} of {operations} on, met at a {files.met}")
            raise
        refused += work.refused
        shutil.rmtree(root)
    assert refused > operations / 4
