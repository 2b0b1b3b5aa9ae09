typedef int gpuc_onnx_empty;
