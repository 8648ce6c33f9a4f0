package compiler

// profileKeys are the keys of the resource profiles: `## repository`, `## filesystem`, `## git`, `## database`.
var profileKeys = []Key{}
