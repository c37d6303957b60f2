#!/bin/sh
# Prints the path of a Python that can run Trimtab: the one named as argument, or the first suitable on PATH.
# One line on stderr and exit 1 when there is none.

suits() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${1:-}" ]; then
    candidates=$1
else
    candidates="python3 python3.13 python3.12 python3.11 python3.14 python"
fi

for candidate in $candidates; do
    if suits "$candidate"; then
        command -v "$candidate"
        exit 0
    fi
done

found=$("${1:-python3}" -V 2>/dev/null) || found="no ${1:-python3}"
echo "Trimtab needs Python 3.11 or newer (found: $found): install it, or name it with PYTHON=/path/to/python3" >&2
exit 1
