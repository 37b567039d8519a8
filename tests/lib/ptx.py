"""Runs the kernels of loader/gpu/convert.ptx, a thread for each pixel: the few instructions
that they have, by NumPy, whose float32 is rounded as a device's is."""

import re

import numpy

KINDS = {"u8": numpy.uint8, "u16": numpy.uint16, "u32": numpy.uint32, "u64": numpy.uint64,
         "b16": numpy.uint16, "b64": numpy.uint64, "f16": numpy.float16,
         "f32": numpy.float32}
SPACES = ("param", "global", "to", "lo", "wide", "rn")


def kernels(text):
    """{name: instructions}"""
    text = re.sub(r"//[^\n]*", "", text)
    found = {}
    for name, body in re.findall(r"\.entry (\w+)\([^)]*\)[^{]*\{(.*?)\n\}", text, re.S):
        lines = [line.strip() for line in body.split(";")]
        found[name] = [line for line in lines if line and not line.startswith(".reg")]
    return found


class Thread:
    """All threads of a launch: registers are arrays."""

    def __init__(self, memory, parameters, pictures, blocks):
        picture, block, thread = (grid.ravel() for grid in numpy.meshgrid(
            numpy.arange(pictures), numpy.arange(blocks), numpy.arange(512), indexing="ij"))
        self.memory, self.parameters = memory, parameters
        self.registers = {"%ctaid.x": picture.astype(numpy.uint32),
                          "%ctaid.y": block.astype(numpy.uint32),
                          "%tid.x": thread.astype(numpy.uint32)}
        self.stored = numpy.zeros(len(memory), bool)

    def value(self, word, kind):
        if re.fullmatch(r"\d+", word):
            return kind(int(word))
        return self.registers[word].astype(kind)

    def at(self, word):
        name, _, offset = word.strip("[]").partition("+")
        return self.registers[name].astype(numpy.int64) + int(offset or 0)

    def run(self, instructions):
        for line in instructions:
            operation, _, rest = line.partition(" ")
            if operation.startswith("@"):  # the threads that return are no more
                beyond = self.registers[operation[1:]]
                self.registers = {name: array[~beyond]
                                  for name, array in self.registers.items()}
            elif operation != "ret":
                self.step(operation, [word.strip() for word in rest.split(",")])

    def step(self, operation, words):
        name, *parts = operation.split(".")
        kinds = [KINDS[part] for part in parts if part in KINDS]
        kind = kinds[0]
        if name == "ld" and "param" in parts:
            value = self.parameters[words[1].strip("[]")]
            self.registers[words[0]] = numpy.full(len(self.registers["%tid.x"]), value, kind)
        elif name == "ld":
            self.registers[words[0]] = self.memory[self.at(words[1])]
        elif name == "st":
            self.store(self.at(words[0]), self.value(words[1], self.registers[words[1]].dtype))
        elif name == "setp":
            self.registers[words[0]] = self.value(words[1], kind) >= self.value(words[2], kind)
        else:
            self.registers[words[0]] = self.compute(name, parts, kinds, words[1:])

    def compute(self, name, parts, kinds, words):
        if name == "cvt" and "to" not in parts:
            return self.value(words[0], kinds[1]).astype(kinds[0])
        wide = numpy.uint64 if "wide" in parts else kinds[0]
        values = [self.value(word, wide) for word in words]
        return {"mov": lambda a: a, "cvta": lambda a: a, "add": lambda a, b: a + b,
                "mul": lambda a, b: a * b, "mad": lambda a, b, c: a * b + c,
                "shl": lambda a, b: a << b}[name](*values)

    def store(self, at, values):
        data = values.view(numpy.uint8).reshape(len(at), -1)
        for offset in range(data.shape[1]):
            places = at + offset
            if self.stored[places].any() or len(set(places)) < len(places):
                raise ValueError("a byte is written twice")
            self.stored[places] = True
            self.memory[places] = data[:, offset]
