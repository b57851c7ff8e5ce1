#!/bin/bash
# need-packages.sh - makes sure that Debian packages are installed: need-packages.sh PACKAGE...
# As root, or with a sudo that asks for nothing (or has a terminal to ask on), installs what is missing; otherwise says which command to run.
set -u

if ! command -v dpkg-query >/dev/null; then
	echo "need-packages: this is no Debian system; what these packages hold is needed: $*" >&2
	exit 0
fi

missing=()
for package; do
	status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)
	[ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ]; then
	root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
	root=(sudo)
else
	printf 'These packages are missing. As root, run:\n\n    apt-get install %s\n\n' "${missing[*]}" >&2
	exit 1
fi

echo "installing ${missing[*]}" >&2
install() {
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A fresh machine has no package lists, one that ran for long has stale ones: fetch them only when needed.
install >"$log" 2>&1 || { "${root[@]}" apt-get update -qq && install; } >>"$log" 2>&1 || {
	cat "$log" >&2
	echo "need-packages: cannot install ${missing[*]}" >&2
	exit 1
}
