#!/bin/sh
# Print a Python that can make the virtual environment: the one asked for, or the lowest supported one
# found, because what works there works on the later ones.
asked=$1
for candidate in ${asked:-python3.11 python3.12 python3.13 python3}; do
    # A pyenv shim may exist for a version that is not chosen, so it is run, not only looked for.
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        echo "$candidate"
        exit 0
    fi
done
{
    echo "No suitable Python: 3.11 or later with its venv module is needed (tried: ${asked:-python3.11 python3.12 python3.13 python3})."
    echo "Install it (on Debian and Ubuntu: python3 and python3-venv), or name one: make setup PYTHON=/path/to/python3"
} >&2
exit 1
