from itertools import product

import pytest

from distributedlog.transactions import TransactionState
from distributedlog.transactions.states import STATES_BY_LABEL, IllegalTransition, check_transition

#: By state the ones that may follow, as Kafka has it.
FOLLOWERS = {
    "Empty": "Empty Ongoing PrepareAbort Dead",
    "Ongoing": "Ongoing PrepareCommit PrepareAbort PrepareEpochFence",
    "PrepareCommit": "CompleteCommit",
    "PrepareAbort": "CompleteAbort",
    "CompleteCommit": "Empty Ongoing PrepareAbort Dead",
    "CompleteAbort": "Empty Ongoing PrepareAbort Dead",
    "Dead": "",
    "PrepareEpochFence": "PrepareAbort",
}


def test_every_state_has_its_name_and_number():
    assert [state.label for state in sorted(TransactionState)] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    assert STATES_BY_LABEL.keys() == FOLLOWERS.keys()


@pytest.mark.parametrize(("old", "new"), list(product(TransactionState, repeat=2)))
def test_the_table_of_transitions(old, new):
    if new.label in FOLLOWERS[old.label].split():
        check_transition(old, new)
    else:
        with pytest.raises(IllegalTransition, match=f"{new.label} may not follow {old.label}"):
            check_transition(old, new)
