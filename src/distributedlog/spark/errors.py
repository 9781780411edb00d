"""What this room raises on purpose; each text says what was wrong, where, and what to do."""


class SparkSourceError(Exception):
    """All errors of this room."""


class InvalidSparkOption(SparkSourceError, ValueError):
    """An option has a value that it cannot have, or two options contradict each other."""


class UnknownSparkOption(SparkSourceError, ValueError):
    """There is no option of this name."""


class DataLoss(SparkSourceError):
    """Records that were to be read are gone, and ``failOnDataLoss`` is on."""


class NoJava(SparkSourceError):
    """Spark needs a Java that is not here, or a later one."""


class SparkTooOld(SparkSourceError):
    """This Spark lacks what the source is made of."""
