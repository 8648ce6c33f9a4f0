package calldata

import (
	"slices"

	"bailiff/vm/amount"
)

// A Kind says what a method of the table does.
type Kind uint8

// The kinds of methods. The zero Kind is none of them.
const (
	Transfer     Kind = 1 + iota // moves tokens of the caller
	TransferFrom                 // moves tokens of From
	Allowance                    // lets Party move tokens of From, or of the caller where the method has no From
	Runs                         // makes its target run further calls, which nothing here reads
	Multicall                    // makes a token's contract run further calls on itself
)

// Judged reports whether methods of the kind move an amount of a token, or let others move one.
func (k Kind) Judged() bool { return k >= Transfer && k <= Allowance }

// A Method is one row of the table. Its Signature is the one that Solidity hashes for its Selector.
type Method struct {
	Selector  Selector
	Signature string
	Kind      Kind

	// What a token's method is called with; arguments count from 1, and 0 is none.
	from, party, argument int
	amount                amountForm
	words                 int  // of the head
	dynamic               bool // it has an argument of any length
}

// Name returns the method's name: its signature without the arguments.
func (m *Method) Name() string { return m.Signature[:nameLength(m.Signature)] }

// HasFrom reports whether the call says whose tokens it moves.
func (m *Method) HasFrom() bool { return m.from > 0 }

// HasParty reports whether the call says who receives, or may spend.
func (m *Method) HasParty() bool { return m.party > 0 }

// FixedAmount returns the amount of a method whose arguments name none: [Unlimited] for one that lets others move
// everything, zero for one that only lowers an allowance.
func (m *Method) FixedAmount() (a amount.Amount, fixed bool) {
	switch m.amount {
	case amountNone:
		return amount.Amount{}, true
	case amountAll:
		return Unlimited, true
	}
	return amount.Amount{}, false
}

// amountForm says where the amount of a method comes from.
type amountForm uint8

const (
	amountNone     amountForm = iota // zero: it lowers or ends an allowance
	amountArgument                   // the argument
	amountFlag                       // the argument is a boolean: Unlimited or zero
	amountAll                        // Unlimited
	amountValue                      // the native value of the call
)

// Methods returns the table, tokens' methods first.
func Methods() []Method { return slices.Clone(methods) }

// Lookup returns the row of a selector, or nil.
func Lookup(s Selector) *Method { return bySelector[s] }

// bySelector finds the rows of the table.
var bySelector = func() map[Selector]*Method {
	rows := make(map[Selector]*Method, len(methods))
	for i := range methods {
		rows[methods[i].Selector] = &methods[i]
	}
	return rows
}()

// moves returns the row of a method that moves an amount of the caller's tokens, or of those of from.
func moves(s Selector, signature string, from, party, argument int) Method {
	m := Method{Selector: s, Signature: signature, Kind: Transfer, from: from, party: party, argument: argument, amount: amountArgument}
	if from > 0 {
		m.Kind = TransferFrom
	}
	return m.measured()
}

// allows returns the row of a method that lets party move tokens of from, or of the caller where from is 0.
func allows(s Selector, signature string, from, party int, form amountForm, argument int) Method {
	return Method{Selector: s, Signature: signature, Kind: Allowance, from: from, party: party, amount: form, argument: argument}.measured()
}

// runs returns the row of a method that makes its target run further calls.
func runs(s Selector, signature string) Method {
	return Method{Selector: s, Signature: signature, Kind: Runs}
}

// measured returns the row with what its signature says of its arguments.
func (m Method) measured() Method {
	types, _ := argumentTypes(m.Signature)
	m.words, m.dynamic = len(types), slices.Contains(types, "bytes")
	return m
}

// methods is the one table of methods (decisions, section 2, "Amounts and tokens"). A test holds every selector to the hash
// of its signature.
var methods = slices.Concat(tokenMethods, accountMethods)

// tokenMethods move an amount of the token whose contract is called, or let others move one.
var tokenMethods = []Method{
	// ERC-20, and what most of its contracts add.
	moves(Selector{0xa9, 0x05, 0x9c, 0xbb}, "transfer(address,uint256)", 0, 1, 2),
	moves(Selector{0x23, 0xb8, 0x72, 0xdd}, "transferFrom(address,address,uint256)", 1, 2, 3),
	allows(Selector{0x09, 0x5e, 0xa7, 0xb3}, "approve(address,uint256)", 0, 1, amountArgument, 2),
	allows(Selector{0x39, 0x50, 0x93, 0x51}, "increaseAllowance(address,uint256)", 0, 1, amountArgument, 2),
	allows(Selector{0xd7, 0x3d, 0xd6, 0x23}, "increaseApproval(address,uint256)", 0, 1, amountArgument, 2),
	allows(Selector{0xa4, 0x57, 0xc2, 0xd7}, "decreaseAllowance(address,uint256)", 0, 1, amountNone, 0),
	allows(Selector{0x66, 0x18, 0x84, 0x63}, "decreaseApproval(address,uint256)", 0, 1, amountNone, 0),

	// Permits: EIP-2612, its form with a signature of any length, and DAI's, whose allowance is all or nothing.
	allows(Selector{0xd5, 0x05, 0xac, 0xcf}, "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", 1, 2, amountArgument, 3),
	allows(Selector{0x9f, 0xd5, 0xa6, 0xcf}, "permit(address,address,uint256,uint256,bytes)", 1, 2, amountArgument, 3),
	allows(Selector{0x8f, 0xcb, 0xaf, 0x0c}, "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)", 1, 2, amountFlag, 5),

	// EIP-3009, with a signature in three parts and of any length.
	moves(Selector{0xe3, 0xee, 0x16, 0x0e}, "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", 1, 2, 3),
	moves(Selector{0xcf, 0x09, 0x29, 0x95}, "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", 1, 2, 3),
	moves(Selector{0xef, 0x55, 0xbe, 0xc6}, "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", 1, 2, 3),
	moves(Selector{0x88, 0xb7, 0xab, 0x63}, "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", 1, 2, 3),

	// ERC-677 (transferAndCall with bytes) and ERC-1363.
	moves(Selector{0x40, 0x00, 0xae, 0xa0}, "transferAndCall(address,uint256,bytes)", 0, 1, 2),
	moves(Selector{0x12, 0x96, 0xee, 0x62}, "transferAndCall(address,uint256)", 0, 1, 2),
	moves(Selector{0xd8, 0xfb, 0xe9, 0x94}, "transferFromAndCall(address,address,uint256)", 1, 2, 3),
	moves(Selector{0xc1, 0xd3, 0x4b, 0x89}, "transferFromAndCall(address,address,uint256,bytes)", 1, 2, 3),
	allows(Selector{0x31, 0x77, 0x02, 0x9f}, "approveAndCall(address,uint256)", 0, 1, amountArgument, 2),
	allows(Selector{0xca, 0xe9, 0xca, 0x51}, "approveAndCall(address,uint256,bytes)", 0, 1, amountArgument, 2),

	// ERC-777. Its operators may move everything.
	moves(Selector{0x9b, 0xd9, 0xbb, 0xc6}, "send(address,uint256,bytes)", 0, 1, 2),
	moves(Selector{0x62, 0xad, 0x1b, 0x83}, "operatorSend(address,address,uint256,bytes,bytes)", 1, 2, 3),
	moves(Selector{0xfe, 0x9d, 0x93, 0x03}, "burn(uint256,bytes)", 0, 0, 1),
	moves(Selector{0xfc, 0x67, 0x3c, 0x4f}, "operatorBurn(address,uint256,bytes,bytes)", 1, 0, 2),
	allows(Selector{0x95, 0x9b, 0x8c, 0x3f}, "authorizeOperator(address)", 0, 1, amountAll, 0),
	allows(Selector{0xfa, 0xd8, 0xb3, 0x2a}, "revokeOperator(address)", 0, 1, amountNone, 0),

	// WETH9.
	{Selector: Selector{0xd0, 0xe3, 0x0d, 0xb0}, Signature: "deposit()", Kind: Transfer, amount: amountValue},
	moves(Selector{0x2e, 0x1a, 0x7d, 0x4d}, "withdraw(uint256)", 0, 0, 1),
}

// accountMethods make accounts, entry points and tokens run further calls.
var accountMethods = []Method{
	// Accounts: ERC-4337's common ones, ERC-7579, ERC-7821, ERC-6551, ERC-725X, DSProxy.
	runs(Selector{0xb6, 0x1d, 0x27, 0xf6}, "execute(address,uint256,bytes)"),
	runs(Selector{0x51, 0x94, 0x54, 0x47}, "execute(address,uint256,bytes,uint8)"),
	runs(Selector{0xe9, 0xae, 0x5c, 0x53}, "execute(bytes32,bytes)"),
	runs(Selector{0x5c, 0x1c, 0x6d, 0xcd}, "execute((address,uint256,bytes))"),
	runs(Selector{0x3f, 0x70, 0x7e, 0x6b}, "execute((address,uint256,bytes)[])"),
	runs(Selector{0x44, 0xc0, 0x28, 0xfe}, "execute(uint256,address,uint256,bytes)"),
	runs(Selector{0x1c, 0xff, 0x79, 0xcd}, "execute(address,bytes)"),
	runs(Selector{0x18, 0xdf, 0xb3, 0xc7}, "executeBatch(address[],bytes[])"),
	runs(Selector{0x47, 0xe1, 0xda, 0x2a}, "executeBatch(address[],uint256[],bytes[])"),
	runs(Selector{0x34, 0xfc, 0xd5, 0xbe}, "executeBatch((address,uint256,bytes)[])"),
	runs(Selector{0x43, 0x62, 0x9a, 0x73}, "executeBatch((address,uint256,bytes,uint8)[])"),
	runs(Selector{0x21, 0x56, 0x62, 0x79}, "executeBatch((address,bytes)[])"),
	runs(Selector{0x31, 0x85, 0x84, 0x52}, "executeBatch(uint256[],address[],uint256[],bytes[])"),
	runs(Selector{0x00, 0x00, 0x18, 0x9a}, "execute_ncC(address,uint256,bytes)"),
	runs(Selector{0x00, 0x00, 0x46, 0x80}, "executeBatch_y6U(address[],uint256[],bytes[])"),
	runs(Selector{0x9e, 0x5d, 0x4c, 0x49}, "executeCall(address,uint256,bytes)"),
	runs(Selector{0x91, 0x2c, 0xca, 0xa3}, "executeBatchCall(address[],uint256[],bytes[])"),
	runs(Selector{0xd6, 0x91, 0xc9, 0x64}, "executeFromExecutor(bytes32,bytes)"),
	runs(Selector{0x8d, 0xd7, 0x71, 0x2f}, "executeUserOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),bytes32)"),
	runs(Selector{0x7b, 0xb3, 0x74, 0x28}, "executeUserOp(address,uint256,bytes,uint8)"),
	runs(Selector{0x54, 0x1d, 0x63, 0xc8}, "executeUserOpWithErrorString(address,uint256,bytes,uint8)"),
	runs(Selector{0x2c, 0x2a, 0xbd, 0x1e}, "executeWithoutChainIdValidation(bytes[])"),
	runs(Selector{0xce, 0xf6, 0xd2, 0x09}, "redeemDelegations(bytes[],bytes32[],bytes[])"),

	// ERC-6900, LSP6, Sequence, Ambire.
	runs(Selector{0xf2, 0x68, 0x0c, 0x0f}, "executeWithRuntimeValidation(bytes,bytes)"),
	runs(Selector{0x94, 0xed, 0x11, 0xe7}, "executeFromPlugin(bytes)"),
	runs(Selector{0x38, 0x99, 0x7b, 0x11}, "executeFromPluginExternal(address,uint256,bytes)"),
	runs(Selector{0x09, 0xc5, 0xea, 0xbe}, "execute(bytes)"),
	runs(Selector{0xbf, 0x01, 0x76, 0xff}, "executeBatch(uint256[],bytes[])"),
	runs(Selector{0x4c, 0x8a, 0x4e, 0x74}, "executeRelayCall(bytes,uint256,uint256,bytes)"),
	runs(Selector{0xa2, 0x08, 0x56, 0xa5}, "executeRelayCallBatch(bytes[],uint256[],uint256[],uint256[],bytes[])"),
	runs(Selector{0x7a, 0x9a, 0x16, 0x28}, "execute((bool,bool,uint256,address,uint256,bytes)[],uint256,bytes)"),
	runs(Selector{0x61, 0x71, 0xd1, 0xc9}, "execute((address,uint256,bytes)[],bytes)"),
	runs(Selector{0xab, 0xc5, 0x34, 0x5e}, "executeBySender((address,uint256,bytes)[])"),

	// Safes and their modules.
	runs(Selector{0x6a, 0x76, 0x12, 0x02}, "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"),
	runs(Selector{0x46, 0x87, 0x21, 0xa7}, "execTransactionFromModule(address,uint256,bytes,uint8)"),
	runs(Selector{0x52, 0x29, 0x07, 0x3f}, "execTransactionFromModuleReturnData(address,uint256,bytes,uint8)"),
	runs(Selector{0x69, 0x28, 0xe7, 0x4b}, "execTransactionWithRole(address,uint256,bytes,uint8,uint16,bool)"),
	runs(Selector{0xc6, 0xfe, 0x87, 0x47}, "execTransactionWithRole(address,uint256,bytes,uint8,bytes32,bool)"),
	runs(Selector{0xb0, 0xc1, 0x99, 0x12}, "execTransactionWithRoleReturnData(address,uint256,bytes,uint8,uint16,bool)"),
	runs(Selector{0x2b, 0x99, 0xe5, 0x06}, "execTransactionWithRoleReturnData(address,uint256,bytes,uint8,bytes32,bool)"),

	// Entry points of ERC-4337: before 0.3, 0.3 to 0.6, and from 0.7 on.
	runs(Selector{0xdb, 0xba, 0xbd, 0x6a}, "handleOp((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,address,bytes,bytes),address)"),
	runs(Selector{0x28, 0x15, 0xc1, 0x7b}, "handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,address,bytes,bytes)[],address)"),
	runs(Selector{0x9b, 0xdb, 0x01, 0x89}, "handleOp((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes),address)"),
	runs(Selector{0x1f, 0xad, 0x94, 0x8c}, "handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)"),
	runs(Selector{0x4b, 0x1d, 0x7c, 0xf5}, "handleAggregatedOps(((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address,bytes)[],address)"),
	runs(Selector{0x76, 0x5e, 0x82, 0x7f}, "handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)"),
	runs(Selector{0xdb, 0xed, 0x18, 0xe0}, "handleAggregatedOps(((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address,bytes)[],address)"),

	// Contracts that call themselves. Routers do so by the million; of a token it hides what moves.
	{Selector: Selector{0xac, 0x96, 0x50, 0xd8}, Signature: "multicall(bytes[])", Kind: Multicall},
	{Selector: Selector{0x5a, 0xe4, 0x01, 0xdc}, Signature: "multicall(uint256,bytes[])", Kind: Multicall},
	{Selector: Selector{0x1f, 0x04, 0x64, 0xd1}, Signature: "multicall(bytes32,bytes[])", Kind: Multicall},
}
