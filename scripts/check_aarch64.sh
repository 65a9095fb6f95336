#!/usr/bin/env bash
# wim-edge on the processor of a Raspberry Pi, emulated by QEMU: its wheel is installed in an aarch64 Debian with wheels
# for aarch64 and a llama.cpp that is compiled across; there the fast layer of the tests, the rollback on tiny models
# and a question are run, and what the models compute is compared with what they compute here.
#
#   scripts/check_aarch64.sh WORK [STEP...]    the steps, in order: root wheels install fast rollback ask logits report
#
# WORK is a folder that is kept (4 GB): what is done in it is not done again, so that a run goes on where another
# ended; without WORK/root/check/out it is all tested again. It needs root on Debian, two hours, and for the comparison
# an environment in which wim-edge is installed with the extra `dev`. Variables:
#
#   PYTHON    that environment's Python (python3)
#   CPU       whose instructions are known to the emulator: cortex-a72 (a Pi 4's), or cortex-a76 (a Pi 5's)
#   ARM_ARCH  what llama.cpp is compiled for: armv8-a (both), or armv8.2-a+dotprod+fp16 (a Pi 5)
#   UNDER     a command that heavy steps are run under (nice)
#   PROOT     1: by proot, though the kernel would start the emulator
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
mkdir -p "$1" && work=$(cd "$1" && pwd) && shift
root=$work/root
read -ra under <<< "${UNDER:-nice}"
python=${PYTHON:-python3}
cpu=${CPU:-cortex-a72}
arch=${ARM_ARCH:-armv8-a}

# These look at the sources in the checkout, which are left out there so that it is the wheel that is tested
of_the_checkout=(tests/test_house.py tests/test_docs.py::test_files_are_there
                 tests/test_docs.py::test_the_page_has_as_many_files
                 tests/test_portable.py::test_every_file_can_be_checked_out_on_every_disk)
# It may take five seconds of a processor, and takes nine of an emulated one
too_slow=("tests/documents/test_html.py::test_hostile_markup_costs_no_more_than_its_length[markup5]")

tools() {
  local wanted=(debootstrap qemu-user-static binfmt-support proot g++-aarch64-linux-gnu cmake ninja-build)
  dpkg -s "${wanted[@]}" > /dev/null 2>&1 || {
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${wanted[@]}"
  }
  [ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || true
  by_kernel || update-binfmts --enable qemu-aarch64 || true
}

# Whether the kernel starts the emulator for a foreign program, also after chroot; else proot does, which is slower
by_kernel() { [ -z "${PROOT:-}" ] && grep -q '^flags:.*F' /proc/sys/fs/binfmt_misc/qemu-aarch64 2> /dev/null; }

inside() {  # FOLDER COMMAND...: runs it in the root; what is mounted for it is gone with it
  local folder=$1 settings=(env -i PATH=/check/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
                            QEMU_CPU="$cpu" PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore)
  shift
  if by_kernel; then
    # shellcheck disable=SC2016
    "${under[@]}" unshare --mount sh -ec 'cd "$0"; for i in proc sys dev; do mount --rbind "/$i" "$i"; done
      exec chroot . "$@"' "$root" "${settings[@]}" sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
  else
    "${under[@]}" proot -0 -q qemu-aarch64-static -r "$root" -b /proc -b /sys -b /dev -w "$folder" "${settings[@]}" "$@"
  fi
}

once() {  # NAME COMMAND...: runs it unless it was done
  local done="$work/done-$1"
  shift
  if [ ! -e "$done" ]; then
    "$@"
    touch "$done"
  fi
}

root() {
  once bootstrap bootstrap
  once second-stage inside / /debootstrap/debootstrap --second-stage
}
bootstrap() {
  rm -rf "$root"
  debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,python3-venv,libgomp1,libstdc++6 \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" "${MIRROR:-http://deb.debian.org/debian}"
}

wheels() {
  mkdir -p "$root/check/wheels"
  once cross-compiled cross_compile
  once fetched download
  "$python" -m pip wheel --quiet --no-deps -w "$root/check/wheels" "$repo"
}
cross_compile() {
  local name
  name=llama_cpp_python-$(sed -n 's/^llama_cpp_python==//p' "$repo/constraints.txt")
  if [ ! -d "$work/$name" ]; then
    "$python" -m pip download --quiet --no-deps --no-binary llama-cpp-python -d "$work" "${name/n-/n==}"
    tar -xzf "$work/$name.tar.gz" -C "$work"
  fi
  # It is loaded by ctypes, so that its wheel is for every Python and needs the name of the system alone. What a
  # compiler has done stays in the folder "build".
  _PYTHON_HOST_PLATFORM=linux-aarch64 CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) \
    CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DGGML_NATIVE=OFF \
      -DGGML_CPU_ARM_ARCH=$arch -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++" \
    "${under[@]}" "$python" -m pip wheel --no-deps -C build-dir="$work/build" -w "$root/check/wheels" "$work/$name"
}
for_aarch64() {  # COMMAND OF PIP...: as the Python in the root would choose wheels
  local command=$1 platforms=(--platform manylinux2014_aarch64) minor
  shift
  for minor in $(seq 17 36); do platforms+=(--platform "manylinux_2_${minor}_aarch64"); done
  "$python" -m pip "$command" --quiet --no-deps --only-binary :all: --implementation cp "${platforms[@]}" \
    --python-version "$(inside / python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')" "$@"
}
download() {  # all that the extra `dev` needs
  grep -v '^#\|^llama_cpp_python' "$repo/constraints.txt" > "$work/others.txt"
  echo setuptools >> "$work/others.txt"  # which pip does not list, and Debian's is too old for one of them
  for_aarch64 download -r "$work/others.txt" -d "$root/check/wheels"
}

install() {
  once environment inside /check python3 -m venv /check/venv
  once unpacked unpack
  inside /check sh -c 'pip install --quiet --no-index --no-deps --force-reinstall \
    wheels/llama_cpp_python-*.whl wheels/wim_edge-*.whl && pip check'
  rm -rf "$root/check/tree" && mkdir -p "$root/check/tree" "$root/check/out"
  git -C "$repo" ls-files -z | grep -zv '^wim_edge/' | tar -C "$repo" --null -T - -c | tar -C "$root/check/tree" -x
  inside /check/tree python -c 'import platform, wim_edge; print(platform.machine(), wim_edge.__file__)'
}
unpack() {  # the others from here, as pip is slow where it is emulated
  local wheels
  mapfile -t wheels < <(find "$root/check/wheels" -name "*.whl" ! -name "llama_cpp_python-*" ! -name "wim_edge-*")
  for_aarch64 install --no-index --upgrade --target "$root"/check/venv/lib/python3*/site-packages "${wheels[@]}"
}

tests() {  # NAME WHAT...: pytest's results in out/NAME.xml, unless they are there; what failed alone in NAME.alone
  local to="/check/out/$1" code=0
  shift
  [ ! -e "$root$to.xml" ] || return 0
  inside /check/tree python -m pytest -q -n 2 --junitxml="$to.unfinished" "$@" || code=$?
  if [ $code = 1 ]; then  # some of them wait for so many seconds, which are short where two are emulated at once
    inside /check/tree python -m pytest -q -n 0 --last-failed --junitxml="$to.alone" "$@" || code=$?
  fi
  [ $code -le 1 ] || [ $code = 5 ] || return $code  # what fails is counted in the report; 5: there was no test
  mv "$root$to.unfinished" "$root$to.xml"
}
fast() {  # in pieces, so that a run that was ended goes on
  local folder files at
  cd "$root/check/tree"
  for folder in tests tests/*/; do
    mapfile -t files < <(find "${folder%/}" -name "test_*.py" $([ "$folder" != tests ] || echo -maxdepth 1) | sort)
    for ((at = 0; at < ${#files[@]}; at += 12)); do
      tests "fast-$(basename "$folder")-$((at / 12 + 1))" -m "not real" "${of_the_checkout[@]/#/--deselect=}" \
        "${too_slow[@]/#/--deselect=}" "${files[@]:at:12}"
    done
  done
}
rollback() {
  tests rollback-engine -m real -k tiny tests/engine/test_rollback.py tests/engine/test_sequence.py \
    tests/engine/test_context.py
  tests rollback-readings -m real -k "llama or mamba or lfm2 or gemma3-tiny" tests/library/test_real_readings.py
}

compared() {  # ask or logits, and what is measured here alone: there and here, in out/NAME.json and here/NAME.json
  local name=$1
  shift
  mkdir -p "$work/here"
  [ -e "$root/check/out/$name.json" ] \
    || inside /check/tree python scripts/check_aarch64.py "$name" "/check/out/$name.json"
  [ -e "$work/here/$name.json" ] \
    || "${under[@]}" "$python" "$repo/scripts/check_aarch64.py" "$name" "$work/here/$name.json" "$@"
}
ask() { compared ask; }
logits() { compared logits --f16; }
report() {
  "$python" "$repo/scripts/check_aarch64.py" report "$root/check/out" "$work/here" --json "$work/aarch64.json" \
    --told "command=CPU=$cpu ARM_ARCH=$arch scripts/check_aarch64.sh WORK" \
    --told "emulator=$(qemu-aarch64-static --version | head -n 1)"
}

tools
[ $# -gt 0 ] || set -- root wheels install fast rollback ask logits report
for step in "$@"; do
  printf '== %s\n' "$step"
  "$step"
done
