#!/usr/bin/env bash
# llama.cpp's RPC as a user has it: build it for the installed llama-cpp-python, start two servers here, read and answer
# across them. In an environment where wim-edge is installed:
#
#   scripts/check_rpc.sh
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/build_rpc.sh "$work"
GGML_BACKEND_PATH="$work/libggml-rpc.so" TMPDIR="$work" python scripts/check_rpc.py
