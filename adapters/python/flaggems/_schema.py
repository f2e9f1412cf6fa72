# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""ATen's schemas: which arguments an overload takes, and in which order."""
import dataclasses
import numbers
import re


def is_tensor(value):
    return hasattr(value, "__dlpack__")


def _is_list(value, of):
    return isinstance(value, (list, tuple)) and all(of(element) for element in value)


def _is_int(value):
    return isinstance(value, numbers.Integral) and not _is_bool(value)


def _is_bool(value):
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _is_number(value):
    return isinstance(value, numbers.Real) and not _is_bool(value)


# What a type of schemas takes. None alone goes to the others: Layout and Device.
TAKES = {
    "Tensor": is_tensor,
    "Tensor[]": lambda v: _is_list(v, is_tensor),
    "Tensor?[]": lambda v: _is_list(v, lambda t: t is None or is_tensor(t)),
    "int": _is_int,
    "float": _is_number,
    "bool": _is_bool,
    "Scalar": lambda v: _is_number(v) or _is_bool(v),
    "int[]": lambda v: _is_int(v) or _is_list(v, _is_int),
    "float[]": lambda v: _is_list(v, _is_number),
    "bool[]": lambda v: _is_list(v, _is_bool),
    "ScalarType": lambda v: not (is_tensor(v) or _is_number(v) or isinstance(v, (bool, list, tuple))),
    "str": lambda v: isinstance(v, str),
    "MemoryFormat": lambda v: isinstance(v, str) or type(v).__name__ == "memory_format",
    "Generator": _is_int,
}


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    type: str  # without size, alias and "?", but that of elements
    optional: bool
    keyword_only: bool
    required: bool
    written: bool

    def takes(self, value):
        if value is None:
            return self.optional
        takes = TAKES.get(self.type)
        return takes is not None and takes(value)


class Schema:
    """[namespace::]name[.overload](type name[=default], ..., *, ...) -> type"""

    def __init__(self, text):
        self.text = text
        self.key, rest = text.split("(", 1)
        self.name = self.key.split("::")[-1].split(".")[0]
        body, results = rest.rsplit(") -> ", 1)
        body = body.replace("(a -> *)", "(a)")
        self.gives_list = results.endswith("[]")
        self.gives_views = results.startswith("Tensor(a)")
        self.new_results = len([r for r in re.split(r",\s*", results.strip("()")) if r and "!" not in r])
        self.parameters = []
        keyword_only = False
        for part in re.split(r",\s*(?![^\[]*\])", body) if body else []:
            if part == "*":
                keyword_only = True
                continue
            declared, _, default = part.partition("=")
            kind, name = declared.rsplit(" ", 1)
            plain = re.sub(r"\(\w!?\)|\?$", "", kind).replace("SymInt", "int")
            self.parameters.append(Parameter(
                name, re.sub(r"\[\d+\]", "[]", plain), kind.endswith("?"), keyword_only,
                required=not default, written="!" in kind))
        self.positional = sum(not p.keyword_only for p in self.parameters)
        self.outputs = [p for p in self.parameters if p.written and p.keyword_only]

    def twin_among(self, schemas):
        """Of a schema with outputs the one that gives new results instead; None if there is none."""
        inputs = [(p.name, p.type) for p in self.parameters if not p.written]
        twins = [s for s in schemas if s.new_results == len(self.outputs) > 0 and not s.gives_list
                 and [(p.name, p.type) for p in s.parameters] == inputs]
        return twins[0] if twins and len(inputs) + len(self.outputs) == len(self.parameters) else None

    def bind(self, args, kwargs):
        """Where each parameter's argument is, or a string that says why the schema does not take these.

        A place is a position in args, a name in kwargs, a pair of a name and a position in it, or None: a default.
        """
        if len(args) > self.positional:
            return f"takes {self.positional} positional arguments, got {len(args)}"
        places = {name: name for name in kwargs}
        given = kwargs.get("out")
        is_one = not isinstance(given, (list, tuple)) and any(p.name == "out" for p in self.outputs)
        if self.outputs and "out" in kwargs and self.parameters[-1].name != "out" and not is_one:
            if not isinstance(given, (list, tuple)) or len(given) != len(self.outputs):
                return f"out is a tuple of {len(self.outputs)} tensors"
            del places["out"]
            places.update((p.name, ("out", k)) for k, p in enumerate(self.outputs))
        found = []
        for position, p in enumerate(self.parameters):
            if position < len(args):
                if p.name in places:
                    return f"argument {p.name} is given twice"
                found.append(position)
            elif p.name in places:
                found.append(places.pop(p.name))
            elif p.required:
                return f"argument {p.name} is missing"
            else:
                found.append(None)
                continue
            value = value_at(found[-1], args, kwargs)
            if not p.takes(value):
                return f"argument {p.name} is {p.type}, got {type(value).__name__}"
        if places:
            return f"there is no argument {next(iter(places))}"
        return found


def value_at(place, args, kwargs):
    if type(place) is int:
        return args[place]
    if type(place) is str:
        return kwargs[place]
    return kwargs[place[0]][place[1]]
