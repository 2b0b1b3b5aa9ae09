#!/bin/sh
# scripts/fresh-debian.sh [--keep] [--cc COMMAND] [SUITE]
# For developers, as root: makes a minimal Debian (default bookworm) in a directory, puts the committed state of this
# repository into it, and runs there: ./quickstart as a user, which names the packages and stops; ./quickstart; the same as
# a user without a network; cmake --install; ./check. --cc: with that compiler (clang), and no other. The host's apt
# settings are used. DEBIAN_MIRROR names another mirror, TMPDIR the place (about 4 GiB).
set -eu
cd "$(dirname "$0")/.."

usage() { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
keep=no suite=bookworm cc=
while [ $# -gt 0 ]; do
    case $1 in
    --keep) keep=yes ;;
    --cc) [ $# -gt 1 ] || usage; cc=$2; shift ;;
    -*) usage ;;
    *) suite=$1 ;;
    esac
    shift
done
[ "$(id -u)" = 0 ] || { echo "$0: needs root (chroot, mount)" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "$0: needs the package debootstrap" >&2; exit 1; }

case ${TMPDIR:-} in
*[[:space:]]*) echo "$0: TMPDIR has a space in it, with which debootstrap fails, and unmounts /proc of this system" >&2; exit 1 ;;
esac
root=$(mktemp -d "${TMPDIR:-/var/tmp}/gpuc-$suite.XXXXXX")
chmod 755 "$root"
leave() {
    for dir in dev proc sys; do
        if mountpoint -q "$root/$dir"; then umount -R -l "$root/$dir"; fi
    done
    if [ $keep = yes ]; then echo "kept: $root"; else rm -rf --one-file-system "$root"; fi
}
trap leave EXIT
trap 'exit 130' INT TERM HUP

echo "== debootstrap $suite into $root"
# shellcheck disable=SC2086
debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$root" ${DEBIAN_MIRROR:-} >"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; exit 1; }
rm -f "$root.log"
for file in /etc/apt/apt.conf.d/*proxy* /etc/resolv.conf /etc/hosts; do
    if [ -f "$file" ]; then cp -L "$file" "$root$file"; fi
done
mount -t proc proc "$root/proc"
mount --rbind --make-rslave /sys "$root/sys"
mount --rbind --make-rslave /dev "$root/dev"

user=1000
git clone -q --no-hardlinks . "$root/srv/gpuc"
chown -R $user:$user "$root/srv/gpuc"
network=yes
enter() { # user, command...
    user_of_command=$1
    shift
    $([ $network = yes ] || echo unshare --net) chroot --userspec="$user_of_command:$user_of_command" "$root" env -i HOME=/tmp/home-"$user_of_command" \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 ${cc:+CC="$cc"} \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        sh -c 'mkdir -p "$HOME" && cd /srv/gpuc && "$@"' sh "$@"
}

echo "== ./quickstart as a user"
if enter $user ./quickstart >"$root/said" 2>&1; then echo "it found all packages in a minimal Debian" >&2; exit 1; fi
grep 'sudo apt-get install.* libvulkan-dev' "$root/said" || { cat "$root/said" >&2; exit 1; }
echo "== ./quickstart"
enter 0 ./quickstart
echo "== ./quickstart as a user, without a network"
chown -R $user:$user "$root/srv/gpuc/build"
network=no
enter $user ./quickstart
network=yes
echo "== cmake --install"
enter $user cmake --install build/release --prefix /tmp/prefix >/dev/null
enter $user /tmp/prefix/bin/gpuc devices
echo "== ./check"
enter 0 ./check
[ -z "$(enter $user git status --porcelain)" ] || { enter $user git status --short; echo "the tree is not clean" >&2; exit 1; }
echo "== fresh $suite${cc:+ with $cc}: all passed"
