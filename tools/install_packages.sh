#!/usr/bin/env bash
# Installs what is missing of the named groups of tools/packages.txt:
#
#   tools/install_packages.sh build run
#
# Says nothing when nothing is missing. Shows the apt command before it runs it; where it may not (not root and no sudo),
# prints the command and exits 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

wanted=()
while read -r group package _; do
  [[ $group == '#'* || -z $group ]] && continue
  [[ " $* " == *" $group "* ]] && wanted+=("$package")
done < packages.txt

if ! command -v dpkg-query > /dev/null; then
  for tool in g++ cmake ninja python3; do
    command -v "$tool" > /dev/null && continue
    echo "error: \`$tool\` is missing and this is no Debian; install what these Debian packages hold: ${wanted[*]}" >&2
    exit 1
  done
  exit 0
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2> /dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  [[ $'\n'"$installed"$'\n' == *$'\n'"installed $package"$'\n'* ]] && continue
  [[ " ${missing[*]-} " == *" $package "* ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  if command -v sudo > /dev/null && { [[ -t 0 && -t 2 ]] || sudo -n true 2> /dev/null; }; then
    as_root=(sudo)
  else
    printf 'error: packages are missing and only root may install them; run this, then try again:\n\n' >&2
    printf '  apt-get update && apt-get install -y --no-install-recommends %s\n\n' "${missing[*]}" >&2
    exit 1
  fi
fi
apt() {
  echo "+ ${as_root[*]-}${as_root[0]:+ }apt-get $*" >&2
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@" >&2
}
apt update -qq
apt install -y -qq --no-install-recommends "${missing[@]}"
