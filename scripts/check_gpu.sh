#!/usr/bin/env bash
# wim-edge on a GPU, in one command: find or build llama-cpp-python for CUDA, then run scripts/check_gpu.py, which
# leaves one JSON file. It takes 30 minutes at most.
#
#   scripts/check_gpu.sh [--cpu] [--wheel WHEEL] [--model NAME|FILE] [--out FILE] [--only STEPS]
#
#   --cpu     builds nothing and puts no layer on a GPU: tries the steps themselves, in the environment that is active
#   --wheel   of llama-cpp-python, built for this GPU. Without it: the one of the active environment if it has a GPU,
#             else one of its project's index for this CUDA, else one that is compiled here, which needs nvcc
#
# On a Mac llama-cpp-python is compiled with Metal, as it is by itself.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
began=$SECONDS
whole=1800 build_limit=1200 # seconds
cpu='' wheel='' out=check-gpu.json
given=()
while [ $# -gt 0 ]; do
  case $1 in
    --cpu) cpu=yes given+=(--cpu) ;;
    --wheel) wheel=$2; shift ;;
    --out) out=$2 given+=(--out "$2"); shift ;;
    --model | --only) given+=("$1" "$2"); shift ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0"; [ "$1" = --help ] && exit 0 || exit 2 ;;
  esac
  shift
done

# An empty array is unset for the Bash of macOS
check() { exec "$1" "$here/scripts/check_gpu.py" ${given[@]+"${given[@]}"} --seconds $((whole - SECONDS + began)) --build "$2"; }
has_gpu() { "$1" -c 'from wim_edge.engine.bindings import devices; exit(not any(one.is_gpu for one in devices()))' \
  2> /dev/null; }
failed() { # what failed, and the log of it: the file tells of it too
  "$python" - "$out" "$1" "$2" << 'END'
import json, sys
path, what, log = sys.argv[1:]
said = open(log, encoding="utf-8", errors="replace").read()[-4000:]
step = {"build": {"passed": False, "error": what, "log": said}}
with open(path, "w", encoding="utf-8") as file:
    json.dump({"device": "gpu", "steps": step}, file, indent=2)
END
  echo "$1 (the end of what pip said is in $out)" >&2
  exit 1
}

python=$(command -v python3 || command -v python)
[ -z "$cpu" ] || check "$python" "none: --cpu"
mac=$([ "$(uname -sm)" = "Darwin arm64" ] && echo yes || true)
if [ -z "$mac" ] && ! nvidia-smi > /dev/null 2>&1; then
  echo "no GPU here: nvidia-smi is not there, or finds none. --cpu tries the steps without one." >&2
  exit 2
fi
[ -n "$wheel" ] || ! has_gpu "$python" || check "$python" "that of the active environment"

work=$(mktemp -d)
echo "installing into $work/venv (the log is beside it)"
"$python" -m venv "$work/venv"
python=$work/venv/bin/python
limit=$(command -v timeout || command -v gtimeout || true)  # macOS has none
pip() { ${limit:+"$limit" "$build_limit"} "$python" -m pip --disable-pip-version-check "$@" >> "$work/log" 2>&1; }
llama=$(sed -n 's/^  "\(llama-cpp-python[^"]*\)".*/\1/p' "$here/pyproject.toml")
if [ -n "$wheel" ]; then
  how="$wheel"
  pip install "$wheel" || failed "$wheel cannot be installed" "$work/log"
else
  # The driver's CUDA runs what was built for an earlier one of the index
  driver=$(nvidia-smi 2> /dev/null | sed -n 's/.*CUDA Version: \([0-9]*\)\.\([0-9]*\).*/\1\2/p')
  for cuda in 132 130 125 124 123 122 121 118; do [ "${driver:-0}" -lt $cuda ] || break; done
  index=https://abetlen.github.io/llama-cpp-python/whl/cu$cuda
  how="a wheel of $index"
  if [ -n "$mac" ] || ! pip install --only-binary llama-cpp-python --extra-index-url "$index" "$llama"; then
    [ -n "$mac" ] || command -v nvcc > /dev/null ||
      failed "no wheel for cu$cuda, and no nvcc (the CUDA toolkit) to compile one" "$work/log"
    export CMAKE_ARGS="${CMAKE_ARGS:-$([ -n "$mac" ] || echo -DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=native)}"
    how="compiled, with CMAKE_ARGS=$CMAKE_ARGS"
    echo "compiling llama-cpp-python, $CMAKE_ARGS"
    pip wheel --no-cache-dir --no-deps "$llama" -w "$work/wheel" && pip install "$work"/wheel/*.whl ||
      failed "llama-cpp-python could not be compiled" "$work/log"
    echo "compiled in $((SECONDS - began)) s; next time: --wheel $(echo "$work"/wheel/*.whl)"
  fi
fi
pip install -e "$here" 'gguf>=0.10' || failed "wim-edge could not be installed" "$work/log"
has_gpu "$python" || failed "this llama-cpp-python has no GPU ($how)" "$work/log"
check "$python" "$how"
