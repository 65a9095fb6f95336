#!/usr/bin/env bash
# The desktop programs of examples/, frozen: how large they are, and whether they open and answer where no Python is.
#
#   scripts/check_frozen.sh WORK [tk_app] [pyside6_app]
#
# WORK is a folder that is kept (1 GB): an environment with PyInstaller, the frozen programs, and a Debian that has an X
# server and no Python, in which each is started, asked about a DOCX, and photographed (WORK/NAME.png). Without a name
# both are tried. It needs root on Debian; WORK/frozen.json has the figures. Seconds until the window are the clock's.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
mkdir -p "$1" && work=$(cd "$1" && pwd) && shift
[ $# -gt 0 ] || set -- tk_app pyside6_app
root=$work/root
question="Who takes the minutes?"

environment() {
  [ -x "$work/venv/bin/pyinstaller" ] || python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet -c "$repo/constraints.txt" "$repo[documents]" PySide6-Essentials pyinstaller
  "$work/venv/bin/pip" install --quiet --no-deps --force-reinstall "$repo"  # of an environment that was kept, too
}

clean_root() {
  [ -e "$work/done-root" ] && return
  command -v debootstrap > /dev/null || apt-get install -qq -y --no-install-recommends debootstrap
  rm -rf "$root"
  # What every desktop has for Qt's windows, beside the X server and what photographs it
  local qt=libegl1,libgl1,libglib2.0-0,libdbus-1-3,libxkbcommon-x11-0
  qt+=,libxcb-cursor0,libxcb-icccm4,libxcb-keysyms1,libxcb-shape0,libxcb-xkb1
  debootstrap --variant=minbase --include="xvfb,xdotool,x11-apps,netpbm,fonts-dejavu-core,$qt" \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" "${MIRROR:-http://deb.debian.org/debian}" > "$work/root.log"
  touch "$work/done-root"
}

frozen() {  # NAME
  local options=(--noconfirm --windowed --log-level ERROR --distpath "$work/dist" --workpath "$work/build" --specpath "$work")
  for one in lxml.objectify PIL._avif PIL._webp PIL._imagingft; do options+=(--exclude-module "$one"); done
  [ "$1" != pyside6_app ] || options+=(--additional-hooks-dir "$repo/examples/desktop/hooks")
  "$work/venv/bin/pyinstaller" "${options[@]}" "$repo/examples/desktop/$1.py"
  # A Python that was not built for a distribution brings a library with debug information
  strip --strip-unneeded "$work/dist/$1"/_internal/libpython*.so*
}

given() {  # what the program finds in the root: itself, a model, a document
  WIM_EDGE_HOME=$root/home "$work/venv/bin/wim-edge" models pull smollm2-135m > /dev/null 2>&1
  "$work/venv/bin/python" - "$root/minutes.docx" << 'END'
import sys
from docx import Document
document = Document()
for line in ("Minutes of May", "The roof was discussed, and three offers were compared.", "Anna Brand takes the minutes."):
    document.add_paragraph(line)
document.save(sys.argv[1])
END
}

started() {  # NAME: seconds until its window in root/seconds, its answer in root/answer, the screen in root/screen.xwd
  rm -rf "$root/app" "$root/seconds" "$root/answer" "$root/screen.xwd" && cp -a "$work/dist/$1" "$root/app"
  ! chroot "$root" sh -c 'command -v python3 || command -v python' || { echo "a Python is there" >&2; exit 1; }
  # shellcheck disable=SC2016
  unshare --mount sh -ec 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" env -i PATH=/usr/bin:/bin \
    HOME=/root LANG=C.UTF-8 DISPLAY=:7 WIM_EDGE_HOME=/home WIM_EDGE_OFFLINE=yes WIM_EDGE_MODEL=smollm2-135m sh -ec '
    Xvfb :7 -screen 0 1100x700x24 > /dev/null 2>&1 & server=$!
    trap "kill $server" EXIT
    until xdotool getmouselocation > /dev/null 2>&1; do sleep 0.1; done
    begun=$(date +%s.%N)
    "/app/$0" /minutes.docx "$1" --answer > /answer 2> /said &
    program=$!
    timeout 60 xdotool search --sync --onlyvisible --name wim-edge > /dev/null
    echo "$begun $(date +%s.%N)" > /seconds
    until [ -s /answer ] || ! kill -0 $program 2> /dev/null; do sleep 0.05; done
    xwd -root -silent > /screen.xwd
    wait $program' "$1" "$question"
  chroot "$root" sh -c 'xwdtopnm < /screen.xwd 2> /dev/null | pnmtopng 2> /dev/null' > "$work/$1.png"
}

report() {  # NAME...
  "$work/venv/bin/python" - "$work" "$@" << 'END'
import json, sys
from pathlib import Path
work, found = Path(sys.argv[1]), {"command": "scripts/check_frozen.sh WORK"}
for name in sys.argv[2:]:
    begun, opened = map(float, (work / f"{name}.seconds").read_text().split())
    size = sum(file.stat().st_size for file in (work / "dist" / name).rglob("*") if file.is_file() and not file.is_symlink())
    answer = (work / f"{name}.answer").read_text().strip()
    found[name] = {"nbytes": size, "seconds_window": round(opened - begun, 2), "answer": answer}
    print(f"{name}: {size / 1e6:.0f} MB, {opened - begun:.1f} s to the window, {answer!r}")
(work / "frozen.json").write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
sys.exit(not all("Anna Brand" in found[name]["answer"] for name in sys.argv[2:]))
END
}

environment
clean_root
given
for name in "$@"; do
  [ -d "$work/dist/$name" ] || frozen "$name"
  started "$name"
  cp "$root/seconds" "$work/$name.seconds"
  cp "$root/answer" "$work/$name.answer"
done
report "$@"
