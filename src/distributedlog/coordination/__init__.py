"""What the coordinators of groups and of transactions have in common: the contract with their driver,
deadlines, and the expressions in RE2's syntax that clients choose names by.
"""

from distributedlog.coordination.errors import client_error
from distributedlog.coordination.outcome import Context, Outcome, Reply, Timer
from distributedlog.coordination.timers import TimerBook

__all__ = ["Context", "Outcome", "Reply", "Timer", "TimerBook", "client_error"]
