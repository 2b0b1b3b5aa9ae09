# SPDX-License-Identifier: Apache-2.0
"""onnxruntime_peer.py MODEL THREADS REPEATS INPUT OUTPUT: times onnxruntime for gpuc-bench.

INPUT and OUTPUT are raw float32. Prints "name TEXT" and one line "sample SECONDS" per run.
"""
import sys
import time

import numpy as np
import onnxruntime as ort

model, threads, repeats, input_path, output_path = sys.argv[1:6]
options = ort.SessionOptions()
options.intra_op_num_threads = int(threads)
options.inter_op_num_threads = 1
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
info = session.get_inputs()[0]
feed = {info.name: np.fromfile(input_path, np.float32).reshape(info.shape)}
for _ in range(3):
    output = session.run(None, feed)[0]
print(f"name onnxruntime {ort.__version__}, {threads} threads")
for _ in range(int(repeats)):
    start = time.perf_counter()
    output = session.run(None, feed)[0]
    print(f"sample {time.perf_counter() - start:.9f}")
output.astype(np.float32).tofile(output_path)
