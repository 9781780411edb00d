"""How many histories the model tests go through.

DLOG_MODEL_EXAMPLES sets the number; with HYPOTHESIS_PROFILE=explore they are new ones in every run.
DLOG_MODEL_SHRINK=0 prints the first failure as it was found, for shrinking a history can take minutes.
"""

import os

from hypothesis import Phase, settings


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
