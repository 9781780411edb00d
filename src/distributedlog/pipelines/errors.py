"""What goes wrong with pipelines, in one sentence each; `dlog pipeline` prints it as it is."""


class PipelineError(Exception):
    """A pipeline cannot do what it was asked for; the text says why and what to do."""


class SpecError(PipelineError):
    """A specification that cannot be: the text names the file, the section, the key and what was meant."""


class NotRunning(PipelineError):
    """The pipeline would have to run for this."""


class AlreadyRunning(PipelineError):
    """Another process runs this pipeline; two at once would write twice."""
