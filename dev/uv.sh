#!/bin/bash
# uv in a virtual environment of its own, by the hashes of dev/uv.txt: dev/uv.sh FOLDER
# Debian's python3 comes without ensurepip; as root its package is installed, else the message says what is missing.
set -euo pipefail
folder=$1
python=$(command -v python3.11 || command -v python3) || { echo "Python 3.11 or later is needed" >&2; exit 2; }
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        (apt-get update -q && apt-get install -y -q python3-venv) >&2
    else
        echo "python3 has no ensurepip: install python3-venv" >&2
        exit 2
    fi
fi
"$python" -m venv "$folder"
"$folder/bin/pip" install --quiet --require-hashes --only-binary :all: -r "$(dirname "$0")/uv.txt" >&2
