# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Barriers that only some threads of a block would reach, as far as a kernel's text shows them."""
import re

COLLECTIVES = ("sync sync_cluster leave_cluster reduce reduce_block reduce_warps reduce_subwarp reduce_group reduce_cluster"
               " accumulate exclusive_scan exclusive_scan_block exclusive_scan_warps any_in_warp count_in_turn shuffle_xor wait_copies"
               " sync_copies multiply_tiles transpose_tile").split()
OF_BLOCK = r"\b(?:block|machine)_?\s*\.\s*(?:template\s+)?"
CALL = re.compile(OF_BLOCK + rf"({'|'.join(COLLECTIVES)})\b")
DIVIDED = re.compile(OF_BLOCK + r"(?:single|for_each|for_each_lane)\s*\(")  # among threads
VARIABLE = re.compile(r"\b(?:auto|bool|int|[iu](?:8|16|32|64))\s+(?=\w+\s*[={])")
CONTROL = re.compile(r"\b(if(?:\s+constexpr)?|for|while)\s*\(")
BRACKETS = {"(": ")", "[": "]", "{": "}"}


def code_of(text):
    """The text with blanks for comments, literals and lines of the preprocessor."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found.group())
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])'", blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def closing(code, at):
    """Where the bracket at `at` is closed."""
    depth = 0
    for k in range(at, len(code)):
        depth += (code[k] in "([{") - (code[k] in ")]}")
        if depth == 0:
            return k
    return len(code) - 1


def scope_end(code, at):
    """Where the innermost braces around `at` are closed."""
    depth = 0
    for k in range(at, len(code)):
        depth += (code[k] == "{") - (code[k] == "}")
        if depth < 0:
            return k
    return len(code)


def statement_end(code, at):
    """Past the statement that begins at `at`."""
    at += len(code[at:]) - len(code[at:].lstrip())
    if code.startswith("{", at):
        return closing(code, at) + 1
    control = CONTROL.match(code, at)
    if control:
        end = statement_end(code, closing(code, control.end() - 1) + 1)
        return after_else(code, end) if control[1].startswith("if") else end
    while at < len(code) and code[at] not in ";}":
        at = closing(code, at) + 1 if code[at] in BRACKETS else at + 1
    return min(at + 1, len(code))


def after_else(code, at):
    other = re.compile(r"\s*else\b").match(code, at)
    return statement_end(code, other.end()) if other else at


def declared(code, begin, end):
    """The variables of a declaration's text, with what they are initialised with."""
    first = begin
    while first < end:
        last = first
        while last < end and code[last] not in ",;":
            last = closing(code, last) + 1 if code[last] in BRACKETS else last + 1
        found = re.match(r"\s*(\w+)\s*[={](.*)", code[first:last], re.S)
        if found:
            yield found[1], found[2]
        first = last + 1


def violations(text):
    """(line, collective, line of the condition) of each collective of a block's under a condition that
    depends on the thread's index. What a collective returns is taken to be the same in all threads."""
    code = code_of(text)
    own = []  # variables that depend on it, and their scopes

    def depends(expression, at):
        return re.search(r"\bthread\(\)", expression) or any(
            first <= at < last and re.search(rf"(?<![\w.]){name}\b", expression) for name, first, last in own)

    for found in VARIABLE.finditer(code):
        at = found.start()
        for name, value in declared(code, found.end(), statement_end(code, found.end())):
            if not CALL.search(value) and not re.match(r"\s*\[", value) and depends(value, at):
                own.append((name, at, scope_end(code, at)))

    spans = []  # under such a condition: from, to, the condition
    for found in CONTROL.finditer(code):
        close = closing(code, found.end() - 1)
        if depends(code[found.end():close], found.start()):
            end = statement_end(code, close + 1)
            last = after_else(code, end) if found[1].startswith("if") else end
            if found[1].startswith("if") and re.search(r"\b(?:return|continue|break)\b", code[close:end]):
                last = scope_end(code, end)
            spans.append((close, last, found.start()))
    spans += [(found.end(), closing(code, found.end() - 1), found.start()) for found in DIVIDED.finditer(code)]
    line_of = lambda at: code.count("\n", 0, at) + 1
    return sorted({(line_of(call.start()), call[1], line_of(why)) for first, last, why in spans
                   for call in CALL.finditer(code, first, last)})
