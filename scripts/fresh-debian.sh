#!/bin/sh
# scripts/fresh-debian.sh [--keep] [SUITE]
# For developers, as root: makes a minimal Debian (default bookworm) in a directory, puts the committed state of
# this repository into it, and runs there: ./quickstart, ./quickstart again without a network, ./check. The host's apt
# settings are used. DEBIAN_MIRROR names another mirror, TMPDIR the place (about 4 GiB).
set -eu
cd "$(dirname "$0")/.."

keep=no suite=bookworm
for word in "$@"; do
    case $word in
    --keep) keep=yes ;;
    -*) sed -n 's/^# //p' "$0" | head -n 4; exit 2 ;;
    *) suite=$word ;;
    esac
done
[ "$(id -u)" = 0 ] || { echo "$0: needs root (chroot, mount)" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "$0: needs the package debootstrap" >&2; exit 1; }

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

git clone -q --no-hardlinks . "$root/root/gpuc"
inside() { # command...
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        sh -c 'cd /root/gpuc && "$@"' sh "$@"
}

echo "== ./quickstart"
inside ./quickstart
echo "== ./quickstart without a network"
unshare -n chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    sh -c 'cd /root/gpuc && ./quickstart'
echo "== ./check"
inside ./check
[ -z "$(inside git status --porcelain)" ] || { inside git status --short; echo "the tree is not clean" >&2; exit 1; }
echo "== fresh $suite: all passed"
