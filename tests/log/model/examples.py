"""How many histories the model tests go through.

DLOG_MODEL_EXAMPLES sets the number; with HYPOTHESIS_PROFILE=explore they are new ones in every run.
DLOG_MODEL_SHRINK=0 prints the first failure as it was found, for shrinking a history can take minutes.
"""

import os

from hypothesis import Phase, settings

from distributedlog.log import Files


class UnsyncedFiles(Files):
    """Nothing is pushed to the disk: these tests are about what the log says, tests/log/crash about what
    a loss of power leaves of it. Tests that use it have it in their names."""

    def fsync(self, fd):
        pass

    def fsync_directory(self, path):
        pass


def model_settings(examples, steps):
    phases = [Phase.explicit, Phase.reuse, Phase.generate]
    if os.environ.get("DLOG_MODEL_SHRINK", "1") != "0":
        phases.append(Phase.shrink)
    return settings(
        max_examples=int(os.environ.get("DLOG_MODEL_EXAMPLES", examples)),
        stateful_step_count=steps,
        phases=phases,
        report_multiple_bugs=False,
    )
