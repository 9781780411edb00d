"""The broker without sockets: requests in, responses out, state in between."""
