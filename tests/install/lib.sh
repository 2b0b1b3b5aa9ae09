# What the scripts of this folder share.

# The first of those compilers that are one program, of those that are here.
different() {
    for one; do
        if command -v "$one" >/dev/null; then echo "$(readlink -f "$(command -v "$one")") $one"; fi
    done | awk '!seen[$1]++ { print $2 }'
}
