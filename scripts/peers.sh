# Python packages that benchmarks compare with, in build/peers; sourced. They are no part of gpuc.
GPUC_PEERS='numpy==2.2.6 onnx==1.19.1 onnxruntime==1.23.2'

peers_python() { # imports wanted; prints the interpreter that has them
    venv=build/peers
    wanted=
    for module in "$@"; do wanted="${wanted:+$wanted, }$module"; done
    if ! $venv/bin/python -c "import $wanted" 2>/dev/null; then
        echo "== Python packages for comparison, into $venv" >&2
        python3 -m venv $venv >&2 || return 1
        # shellcheck disable=SC2086
        $venv/bin/pip install --quiet --disable-pip-version-check --only-binary :all: $GPUC_PEERS >&2 || return 1
    fi
    $venv/bin/python -c "import $wanted" >&2 && echo $venv/bin/python
}
