"""A model of a few layers, made here."""
import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def session(size, rows, threads):
    nodes, weights, last = [], [], "x"
    for i in range(6):
        weights.append(numpy_helper.from_array(
            numpy.random.randn(size, size).astype(numpy.float32) * 0.05, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"h{i}"]))
        nodes.append(helper.make_node("Relu", [f"h{i}"], [f"r{i}"]))
        last = f"r{i}"
    value = lambda name: helper.make_tensor_value_info(
        name, TensorProto.FLOAT, [rows, size])
    model = helper.make_model(
        helper.make_graph(nodes, "layers", [value("x")], [value(last)], weights),
        opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    made = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])
    return made, {"x": numpy.random.randn(rows, size).astype(numpy.float32)}
