#!/bin/bash
# check-deb.sh - a fresh Debian 12 from this machine's mirror: installs the packages of build/deb there, uses them, purges them, and compares
# what is left with what was there before. As root, with debootstrap; everything is below build/fresh.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
root=$build/fresh

# shellcheck disable=SC2016 # apt expands
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
rm -rf "$root"
[ -n "$mirror" ] || { echo 'check-deb: apt has no source of Debian packages here' >&2; exit 1; }
debootstrap --variant=minbase --include=ca-certificates,git,perl-base bookworm "$root" "$mirror" >"$build/fresh.log" 2>&1 || {
	tail -n 20 "$build/fresh.log" >&2
	exit 1
}
trap 'umount "$root/proc" "$root/dev"' EXIT
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
inside() {
	chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}
# All but what dpkg and the loader keep about the packages that there are, and logs.
files() {
	(cd "$root" && find . \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./root -o -path ./var/log -o -path ./var/cache/apt \) -prune \
		-o -printf '%p %y %m %l %s\n') | grep -vE '^\./(var/lib/dpkg/(status|available)(-old)?|var/lib/dpkg|var/lib/apt/extended_states|var/cache/ldconfig/aux-cache) ' | sort
}

files >"$build/fresh.before"
cp "$build"/deb/{fastsha,libfastsha1}_*.deb "$root/tmp"
inside sh -c 'dpkg -i /tmp/*.deb' >>"$build/fresh.log"
inside fastsha doctor
inside sh -e -c 'cd /root && git init -q repository && cd repository && seq 500000 >numbers && git add . &&
	git -c user.name=a -c user.email=a@example.org commit -qm numbers && fastsha ab -n 3 -- git fsck --full && LD_PRELOAD=libfastsha.so git fsck --full'
inside dpkg --purge fastsha libfastsha1 >>"$build/fresh.log"
files | diff "$build/fresh.before" - || { echo 'FAILED: the packages left that behind' >&2; exit 1; }
echo 'purged: nothing is left behind'
