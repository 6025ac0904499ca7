import ts from 'typescript';

/**
 * Returns the declarations of every type that a module of types exports. Types from zod schemas are written out, so that users of the
 * declarations do not need zod; a field has its own comment, or else the text of its schema's `describe`. What the module exports
 * from files of its own package is unchanged.
 *
 * @param {string} file the module, a source file
 */
export function expandTypes(file) {
  const program = ts.createProgram([file], {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    customConditions: ['@belay/source'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source)).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return { name: symbol.name, target, type: checker.getDeclaredTypeOfSymbol(target) };
  });
  const printer = createPrinter(checker, exported);
  const own = source.statements
    .filter((each) => ts.isExportDeclaration(each) && each.moduleSpecifier?.text.startsWith('.'))
    .map((each) => each.getText());
  const ownNames = new Set(
    source.statements
      .filter((each) => ts.isExportDeclaration(each) && each.moduleSpecifier?.text.startsWith('.'))
      .flatMap((each) => each.exportClause.elements.map((element) => element.name.text)),
  );
  const declarations = exported
    .filter(({ name }) => !ownNames.has(name))
    .sort((one, other) => one.name.localeCompare(other.name))
    .map(({ name, target, type }) => {
      const body = printer.print(type, 0, name);
      const head =
        body.startsWith('{') && !type.isUnion() ? `export interface ${name} ${body}` : `export type ${name} = ${body};`;
      return comment(ts.displayPartsToString(target.getDocumentationComment(checker)), 0) + head;
    });
  return `${[...own, ...declarations].join('\n\n')}\n`;
}

/**
 * @param {import('typescript').TypeChecker} checker
 * @param {{ name: string, type: import('typescript').Type }[]} exported the types that others refer to by name
 */
function createPrinter(checker, exported) {
  const names = new Map(exported.map(({ name, type }) => [type, name]));
  const unions = exported.filter(({ type }) => type.isUnion());

  function print(type, depth, root) {
    const name = names.get(type);
    if (name !== undefined && name !== root) return name;
    if (type.flags & ts.TypeFlags.Any) throw new Error(`a field of ${root ?? 'a type'} comes to any`);
    if (type.isUnion() && !(type.flags & ts.TypeFlags.Boolean)) return printUnion(type, depth, root);
    if (checker.isArrayType(type)) {
      const item = print(checker.getTypeArguments(type)[0], depth);
      return /[ |]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
    }
    // `string & {}` in a union means any other text; editors still suggest the listed values.
    if (type.isIntersection() && type.types.some(({ flags }) => flags & ts.TypeFlags.String)) return '(string & {})';
    if (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return printObject(type, depth);
    return checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation);
  }

  function printUnion({ types }, depth, root) {
    const empty = types.filter(({ flags }) => flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined));
    const full = types.filter((member) => !empty.includes(member));
    const known = unions.find(
      ({ name, type }) =>
        name !== root && type.types.length === full.length && full.every((member) => type.types.includes(member)),
    );
    const parts = known === undefined ? full.map((member) => print(member, depth)) : [known.name];
    const written = parts.map((part) => (part === 'true' || part === 'false' ? 'boolean' : part));
    return [...new Set([...written, ...empty.map((member) => checker.typeToString(member))])].join(' | ');
  }

  function printObject(type, depth) {
    const [index] = checker.getIndexInfosOfType(type);
    if (index !== undefined) return `Record<string, ${print(index.type, depth)}>`;
    const margin = '  '.repeat(depth + 1);
    const fields = checker.getPropertiesOfType(type).map((property) => {
      const mark = property.flags & ts.SymbolFlags.Optional ? '?' : '';
      const value = print(checker.getTypeOfSymbol(property), depth + 1);
      return `${comment(describe(property), depth + 1)}${margin}${property.name}${mark}: ${value};`;
    });
    return fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n${'  '.repeat(depth)}}`;
  }

  /** Returns the comment of a field, or else the description of its schema. */
  function describe(property) {
    const own = ts.displayPartsToString(property.getDocumentationComment(checker));
    if (own !== '') return own;
    for (const declaration of property.declarations ?? []) {
      const found = described(declaration);
      if (found !== undefined) return found;
    }
    return '';
  }

  /** Returns the text of `describe` from the expression that defines a field or a constant, or from what that expression refers to. */
  function described(node) {
    if (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node))
      return node.initializer && described(node.initializer);
    if (ts.isShorthandPropertyAssignment(node)) return declared(checker.getShorthandAssignmentValueSymbol(node));
    if (ts.isIdentifier(node)) return declared(checker.getSymbolAtLocation(node));
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
    const [text] = node.arguments;
    if (node.expression.name.text === 'describe' && text !== undefined) return constant(text);
    return described(node.expression.expression);
  }

  function declared(symbol) {
    const target = symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const [declaration] = target?.declarations ?? [];
    return declaration === undefined ? undefined : described(declaration);
  }

  return { print };
}

/** Returns the text of a string literal, or of several that are joined with `+`. */
function constant(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isBinaryExpression(node)) return constant(node.left) + constant(node.right);
  throw new Error(`a description that is not a plain text: ${node.getText()}`);
}

function comment(text, depth) {
  if (text === '') return '';
  const margin = '  '.repeat(depth);
  const lines = text.replaceAll('*/', '* /').split('\n');
  if (lines.length === 1) return `${margin}/** ${lines[0]} */\n`;
  return `${margin}/**\n${lines.map((line) => `${margin} * ${line}`).join('\n')}\n${margin} */\n`;
}
