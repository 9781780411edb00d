"""The shell around the broker: sockets, timers, threads, configuration, and `node`, which joins them."""
