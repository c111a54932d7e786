"""Resolving the names and expressions of a module: from its syntax tree, without running it."""

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Names:
    """The full names behind a module's imported names."""

    def __init__(self, tree: ast.Module) -> None:
        self.meant: dict[str, str] = {}
        #: names of imported modules, and names imported from them
        self.imported: set[str] = set()
        #: context managers of this file that swallow exceptions
        self.swallowing = {
            node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _keeps_errors(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.meant |= {each.asname: each.name for each in node.names if each.asname}
                self.imported |= {each.asname or each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                self.imported |= {each.asname or each.name for each in node.names}
                if node.module and not node.level:
                    self.meant |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}

    def dotted(self, node: ast.AST) -> str:
        """The full name of an expression, resolved through imports; "" if it is not a name."""
        if isinstance(node, ast.Name):
            return self.meant.get(node.id, node.id)
        if isinstance(node, ast.Attribute) and (before := self.dotted(node.value)):
            return f"{before}.{node.attr}"
        return ""


def _keeps_errors(node: ast.ClassDef) -> bool:
    exits = [each for each in node.body if isinstance(each, FUNCTIONS) and each.name in ("__exit__", "__aexit__")]
    returned = [each.value for end in exits for each in ast.walk(end) if isinstance(each, ast.Return)]
    return any(isinstance(value, ast.Constant) and bool(value.value) for value in returned)


def literal(node: ast.AST) -> tuple[object] | None:
    """The value of a literal, in a tuple; None if it is not a literal."""
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def is_constant(node: ast.expr) -> bool:
    """Whether its value can never change."""
    changing = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Await, ast.NamedExpr, ast.Lambda)
    return not any(isinstance(each, changing) for each in ast.walk(node))


def truth(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not truth(operand)
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            return bool(elts)
    return True  # a comparison of constants, such as `1 == 1`: assume that it holds


def has_calls(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Call) for each in ast.walk(node))


def always(node: ast.expr) -> bool:
    """Whether an assertion of this expression can't fail."""
    match node:
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(always, values))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(always, values))
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            return bool(elts)
        case ast.Compare(left=left, comparators=[right], ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()]):
            return ast.dump(left) == ast.dump(right) and not has_calls(left)
        case ast.Lambda():
            return True
    return is_constant(node) and truth(node)


def is_empty(node: ast.expr) -> bool:
    match node:
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]) | ast.Constant(value=""):
            return True
        case ast.Call(func=ast.Name(id="range" | "list" | "tuple" | "set" | "dict"), args=args):
            return all(isinstance(each, ast.Constant) and each.value == 0 for each in args)
    return False
