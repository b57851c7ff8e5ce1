#!/bin/bash
# fetch-source.sh - a Debian source package from the mirrors that apt is set up for: fetch-source.sh FOLDER PACKAGE[=VERSION]
# Its files lie in FOLDER afterwards, not unpacked. Nothing outside FOLDER changes; no root is needed.
set -euo pipefail
folder=$(realpath -m "$1")
command -v apt-get >/dev/null || { echo 'fetch-source: needs apt' >&2; exit 1; }
mkdir -p "$folder/apt"/{lists/partial,parts,cache}
cd "$folder"

# This system's own sources, keys and options; only the kind of package is another.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
	case $list in
	*.sources) [ ! -e "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list" >"apt/parts/${list##*/}" ;;
	*.list) [ ! -e "$list" ] || sed -n 's/^deb\([[:space:]]\)/deb-src\1/p' "$list" >"apt/parts/${list##*/}" ;;
	esac
done
apt=(apt-get -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$folder/apt/parts" -o "Dir::State::Lists=$folder/apt/lists"
	-o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User= -o Acquire::Retries=2)
# A mirror without source packages fails, and need not have this one.
"${apt[@]}" update || true
"${apt[@]}" source --download-only --only-source "$2"
