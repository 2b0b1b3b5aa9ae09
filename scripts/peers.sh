# Python packages that benchmarks compare with, in build/peers; sourced. They are no part of gpuc.
venv=build/peers

peers_pin() { # what gives a module, as words for pip
    case $1 in
    numpy) echo numpy==2.2.6 ;;
    onnx) echo onnx==1.19.1 ;;
    onnxruntime) echo onnxruntime==1.32.0 ;;
    openvino) echo openvino==2026.4.1 ;;
    ncnn) echo ncnn==1.0.20261020 ;;
    pnnx) echo --no-deps pnnx==20261020 ;; # its program; only its Python needs torch
    iree) echo iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 ;;
    tvm) echo apache-tvm==0.27.0.post1 ;;
    tinygrad) echo tinygrad==0.14.0 ;;
    matplotlib) echo matplotlib==3.10.7 ;;
    esac
}

peers_has() { # whether the wanted version of a module is there
    "$venv/bin/python" - "$@" 2>/dev/null <<'EOF'
import importlib.metadata, sys
for word in sys.argv[1:]:
    if "==" in word:
        name, version = word.split("==")
        assert importlib.metadata.version(name) == version
EOF
}

peers_python() { # modules wanted; prints the interpreter that has them
    for module in "$@"; do
        pins=$(peers_pin "$module")
        # shellcheck disable=SC2086
        peers_has $pins && continue
        echo "== $module for comparison, into $venv" >&2
        [ -x $venv/bin/pip ] || python3 -m venv $venv >&2 || return 1
        # shellcheck disable=SC2086
        if ! why=$($venv/bin/pip install --quiet --disable-pip-version-check --only-binary :all: $pins 2>&1); then
            echo "$why" | tail -n 1 >&2
            return 1
        fi
    done
    echo $venv/bin/python
}
