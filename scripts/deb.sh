#!/bin/bash
# deb.sh - builds the Debian packages: deb.sh VERSION. Results under $BUILD/deb. With REPRODUCE=1 builds twice, in two places, and compares.
set -eu
cd "$(dirname "$0")/.."
version=$1
build=${BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac

changelog=$(dpkg-parsechangelog -S Version)
[ "$changelog" = "$version" ] || { echo "deb: debian/changelog says $changelog, the Makefile $version" >&2; exit 1; }
grep -q "^## $version " CHANGELOG.md || { echo "deb: CHANGELOG.md has no section for $version" >&2; exit 1; }

# once FOLDER: in a copy of the sources, so that nothing of this build is used.
once() {
	rm -rf "$1"
	mkdir -p "$1"
	scripts/dist.sh "$version" | tar -x -J -C "$1"
	(cd "$1/fastsha-$version" && env -u MAKEFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u BUILD dpkg-buildpackage -us -uc -b) >"$1/log" 2>&1 || {
		tail -n 40 "$1/log" >&2
		exit 1
	}
}

once "$build/deb"
if [ -n "${REPRODUCE-}" ]; then
	once "$build/deb-again/elsewhere"
	for package in "$build"/deb/*.deb; do cmp "$package" "$build/deb-again/elsewhere/${package##*/}"; done
	echo 'the second build gave the same bytes'
fi
if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error,warning "$build"/deb/*.changes
fi
ls "$build"/deb/*.deb
