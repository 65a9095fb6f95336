#!/usr/bin/env bash
# llama.cpp's RPC as a user has it: build llama-cpp-python with it, start two servers here, read and answer across them.
#
#   scripts/check_rpc.sh [WHEEL]      WHEEL: of llama-cpp-python, built with GGML_RPC; else it is built (7 minutes)
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
. "$work/venv/bin/activate"
if [ $# -gt 0 ]; then
  pip install --quiet "$1"
else
  CMAKE_ARGS="-DGGML_RPC=on" pip install --quiet --no-cache-dir 'llama-cpp-python>=0.3.36,<0.4'
fi
pip install --quiet -e .
TMPDIR="$work" python scripts/check_rpc.py
