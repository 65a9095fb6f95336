#!/usr/bin/env bash
# llama.cpp's RPC for the llama-cpp-python that is installed, without compiling that again (Linux; some ten seconds).
#
#   scripts/build_rpc.sh DIR      in its environment; then: export GGML_BACKEND_PATH=DIR/libggml-rpc.so
set -euo pipefail
[ $# = 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
for one in python tar c++; do command -v "$one" > /dev/null || { echo "error: no $one" >&2; exit 1; }; done
python -c 'import llama_cpp' 2> /dev/null || { echo "error: $(command -v python) has no llama-cpp-python" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$1"
read -r version library < <(python - <<'END'
from importlib.util import find_spec
from importlib.metadata import version
from pathlib import Path
print(version("llama-cpp-python"), Path(find_spec("llama_cpp").origin).parent / "lib" / "libggml-base.so")
END
)
pip download --quiet --no-deps --no-binary llama-cpp-python "llama-cpp-python==$version" -d "$work"
tar -xzf "$work"/*.tar.gz -C "$work" --strip-components=4 --wildcards '*/vendor/llama.cpp/ggml/include' \
  '*/vendor/llama.cpp/ggml/src/ggml-rpc' '*/vendor/llama.cpp/ggml/src/*.h'
c++ -O2 -std=c++17 -fPIC -shared -pthread -DGGML_BACKEND_DL -DGGML_BACKEND_SHARED -DGGML_BACKEND_BUILD -DGGML_SHARED \
  -I"$work/include" -I"$work/src" "$work"/src/ggml-rpc/{ggml-rpc,transport}.cpp "$library" -o "$1/libggml-rpc.so"
