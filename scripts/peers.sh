# Python packages that benchmarks compare with, in build/peers; sourced. They are no part of gpuc.

peers_pin() { # what gives a module
    case $1 in
    numpy) echo numpy==2.2.6 ;;
    onnx) echo onnx==1.19.1 ;;
    onnxruntime) echo onnxruntime==1.23.2 ;;
    ncnn) echo ncnn==1.0.20261020 pnnx==20261020 ;;
    tvm) echo apache-tvm==0.27.0.post1 ;;
    matplotlib) echo matplotlib==3.10.7 ;;
    esac
}

peers_python() { # modules wanted; prints the interpreter that has them
    venv=build/peers
    for module in "$@"; do
        $venv/bin/python -c "import $module" 2>/dev/null && continue
        echo "== $module for comparison, into $venv" >&2
        [ -x $venv/bin/pip ] || python3 -m venv $venv >&2 || return 1
        # shellcheck disable=SC2046
        $venv/bin/pip install --quiet --disable-pip-version-check --only-binary :all: $(peers_pin "$module") >&2 || return 1
        $venv/bin/python -c "import $module" >&2 || return 1
    done
    echo $venv/bin/python
}
