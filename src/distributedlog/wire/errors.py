"""What may go wrong between bytes and messages."""


class ProtocolError(Exception):
    """The bytes are not a message of the protocol. Decoding raises this and nothing else."""


class UnsupportedVersionError(ProtocolError):
    """The API key or the version is none that this codec knows."""

    def __init__(self, api_key: int, version: int) -> None:
        super().__init__(f"no codec for API key {api_key} in version {version}")
        self.api_key = api_key
        self.version = version


class UnsupportedFieldError(ValueError):
    """A message to encode holds a value that the version has no field for."""
