"""PyTorch's side of the comparison: reads a command a line, as JSON, and answers each with a line."""

import base64
import json
import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(int(sys.argv[1]))


def load(tensor):
    flat = torch.frombuffer(bytearray(base64.b64decode(tensor["data"])), dtype=torch.float32)
    return flat.reshape(tensor["shape"])


def dump(tensor):
    return base64.b64encode(tensor.detach().contiguous().numpy().tobytes()).decode()


def attention(task, x, WQ, WK, WV, WO):
    rows, heads = task["rows"], task["heads"]
    width = task["embedDim"] // heads

    def project(weight):
        return F.linear(x, weight).view(rows, heads, width).transpose(0, 1)

    q, k, v = project(WQ), project(WK), project(WV)
    if hasattr(F, "scaled_dot_product_attention"):
        mixed = F.scaled_dot_product_attention(q, k, v)
    else:
        mixed = torch.softmax(q @ k.transpose(1, 2) * width**-0.5, -1) @ v
    return F.linear(mixed.transpose(0, 1).reshape(rows, heads * width), WO)


def program(task, inputs, learning_rate):
    """The task as a function without arguments that returns what it computes."""
    kind = task["kind"]
    if kind == "attention":
        x, *weights = inputs
        if not task["backward"]:

            def forward():
                with torch.no_grad():
                    return [attention(task, x, *weights)]

            return forward
        for weight in weights:
            weight.requires_grad_()

        def backward():
            for weight in weights:
                weight.grad = None
            loss = attention(task, x, *weights).square().mean()
            loss.backward()
            return [loss, *(weight.grad for weight in weights)]

        return backward
    if kind == "xor":
        x, target, *parameters = inputs
        for parameter in parameters:
            parameter.requires_grad_()

        def step():
            w1, b1, w2, b2 = parameters
            F.mse_loss(torch.tanh(x @ w1 + b1) @ w2 + b2, target).backward()
            with torch.no_grad():
                for parameter in parameters:
                    parameter.sub_(parameter.grad, alpha=learning_rate)
                    parameter.grad = None
            return parameters

        return step
    operations = {
        "matmul": torch.matmul,
        "softmax": lambda x: torch.softmax(x, -1),
        "add": torch.add,
        "exp": torch.exp,
        "gelu": F.gelu,
    }
    operation = operations[kind]
    return lambda: [operation(*inputs)]


def has_reference_blas():
    """Whether products go through Netlib's reference BLAS, a hundred times slower than others (seen on Linux only)."""
    torch.ones(64, 64) @ torch.ones(64, 64)
    try:
        with open("/proc/self/maps") as maps:
            libraries = {line.split()[-1] for line in maps if ".so" in line}
    except OSError:
        return False
    fast = any(name in library for library in libraries for name in ("openblas", "mkl", "blis", "atlas"))
    return not fast and any("libblas.so" in library for library in libraries)


def answer(value):
    print(json.dumps(value), flush=True)


answer({"version": torch.__version__, "referenceBlas": has_reference_blas()})
run = None
for line in sys.stdin:
    command = json.loads(line)
    if command["do"] == "prepare":
        inputs = [load(tensor) for tensor in command["inputs"]]
        run = program(command["task"], inputs, command["learningRate"])
        answer({})
    elif command["do"] == "outputs":
        answer({"outputs": [dump(tensor) for tensor in run()]})
    else:
        start = time.perf_counter()
        for _ in range(command["repetitions"]):
            run()
        answer({"milliseconds": (time.perf_counter() - start) * 1000})
