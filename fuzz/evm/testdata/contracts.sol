// The contracts of the attack suite, as small as they can be and still do what the real ones do with money. A signature
// is good where its first word is the address of the signer: the suite gives those of the agent's own wallets alone.
// testdata/compile.mjs compiles them; `go test ./fuzz/evm -run TestContracts -rewrite` writes contracts.json.
pragma solidity 0.8.37;

struct Call { address target; uint256 value; bytes data; }

struct Operation06 {
    address sender; uint256 nonce; bytes initCode; bytes callData; uint256 callGasLimit; uint256 verificationGasLimit;
    uint256 preVerificationGas; uint256 maxFeePerGas; uint256 maxPriorityFeePerGas; bytes paymasterAndData; bytes signature;
}

struct Operation {
    address sender; uint256 nonce; bytes initCode; bytes callData; bytes32 accountGasLimits; uint256 preVerificationGas;
    bytes32 gasFees; bytes paymasterAndData; bytes signature;
}

struct Aggregated06 { Operation06[] userOps; address aggregator; bytes signature; }
struct Aggregated { Operation[] userOps; address aggregator; bytes signature; }

abstract contract Caller {
    function run(address target, uint256 value, bytes memory data) internal {
        (bool ok, ) = target.call{value: value}(data);
        require(ok, "call");
    }
}

// Account is an ERC-4337 account, and what an EIP-7702 wallet delegates to. Slot 0 has its owner.
contract Account is Caller {
    address owner;

    modifier own() {
        require(msg.sender == address(this) || msg.sender == owner || tx.origin == address(this)
            || msg.sender == 0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789
            || msg.sender == 0x0000000071727De22E5E9d8BAf0edAc6f37da032
            || msg.sender == 0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108, "own");
        _;
    }

    receive() external payable {}

    function execute(address target, uint256 value, bytes calldata data) external payable own { run(target, value, data); }

    function execTransactionFromModule(address target, uint256 value, bytes calldata data, uint8) external own returns (bool) {
        run(target, value, data);
        return true;
    }

    function executeBatch(Call[] calldata calls) external payable own {
        for (uint i; i < calls.length; i++) run(calls[i].target, calls[i].value, calls[i].data);
    }

    function executeBatch(address[] calldata targets, bytes[] calldata data) external own {
        for (uint i; i < targets.length; i++) run(targets[i], 0, data[i]);
    }

    function executeBatch(address[] calldata targets, uint256[] calldata values, bytes[] calldata data) external own {
        for (uint i; i < targets.length; i++) run(targets[i], values[i], data[i]);
    }

    // A batch by a name that no table has, for the account itself alone.
    function together(Call[] calldata calls) external payable {
        require(msg.sender == address(this), "self");
        for (uint i; i < calls.length; i++) run(calls[i].target, calls[i].value, calls[i].data);
    }

    // ERC-7579 and ERC-7821: mode 0x00 is one packed call, 0x01 a batch.
    function execute(bytes32 mode, bytes calldata data) external payable own {
        if (bytes1(mode) == 0x00) return run(address(bytes20(data[:20])), uint256(bytes32(data[20:52])), data[52:]);
        Call[] memory calls = abi.decode(data, (Call[]));
        for (uint i; i < calls.length; i++) run(calls[i].target, calls[i].value, calls[i].data);
    }

    function validateUserOp(Operation06 calldata, bytes32, uint256 missing) external own returns (uint256) {
        if (missing > 0) run(msg.sender, missing, "");
        return 0;
    }

    function validateUserOp(Operation calldata, bytes32, uint256 missing) external own returns (uint256) {
        if (missing > 0) run(msg.sender, missing, "");
        return 0;
    }
}

// Safe does what its owner sends. Slot 0 has its owner, who is its module too.
contract Safe is Caller {
    address owner;

    receive() external payable {}

    function exec(address target, uint256 value, bytes calldata data, uint8 operation) internal {
        require(msg.sender == owner, "owner");
        if (operation == 0) return run(target, value, data);
        (bool ok, ) = target.delegatecall(data);
        require(ok, "delegatecall");
    }

    function execTransaction(address target, uint256 value, bytes calldata data, uint8 operation, uint256, uint256, uint256,
        address, address payable, bytes calldata) external payable returns (bool) {
        exec(target, value, data, operation);
        return true;
    }

    function execTransactionFromModule(address target, uint256 value, bytes calldata data, uint8 operation) external returns (bool) {
        exec(target, value, data, operation);
        return true;
    }

    function execTransactionFromModuleReturnData(address target, uint256 value, bytes calldata data, uint8 operation)
        external returns (bool, bytes memory) {
        exec(target, value, data, operation);
        return (true, "");
    }
}

// EntryPoint takes the prefund of its version, makes the call, and gives back what gas was not used. Slot 0 has the
// deposits, slot 1 what the last operation was charged.
contract EntryPoint is Caller {
    mapping(address => uint256) public balanceOf;
    uint256 public charged;

    receive() external payable { balanceOf[msg.sender] += msg.value; }

    function depositTo(address account) public payable { balanceOf[account] += msg.value; }

    function withdrawTo(address payable to, uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        run(to, amount, "");
    }

    function payer(address sender, bytes calldata paymaster) internal pure returns (address) {
        return paymaster.length == 0 || bytes20(paymaster[:20]) == 0 ? sender : address(bytes20(paymaster[:20]));
    }

    function finish(address from, address sender, bytes calldata data, uint256 gas, uint256 prefund, uint256 fixedGas, uint256 fee) internal {
        require(balanceOf[from] >= prefund, "prefund");
        balanceOf[from] -= prefund;
        uint256 before = gasleft();
        (bool ok, ) = sender.call{gas: gas < before ? gas : before}(data);
        ok;
        uint256 cost = (before - gasleft() + fixedGas) * fee;
        if (cost > prefund) cost = prefund;
        balanceOf[from] += prefund - cost;
        charged += cost;
        run(msg.sender, cost, "");
    }

    function handle06(Operation06 calldata op) internal {
        uint256 times = op.paymasterAndData.length == 0 || bytes20(op.paymasterAndData[:20]) == 0 ? 1 : 3;
        uint256 prefund = (op.callGasLimit + op.verificationGasLimit * times + op.preVerificationGas) * op.maxFeePerGas;
        address from = payer(op.sender, op.paymasterAndData);
        uint256 missing = from != op.sender || balanceOf[from] >= prefund ? 0 : prefund - balanceOf[from];
        Account(payable(op.sender)).validateUserOp(op, 0, missing);
        finish(from, op.sender, op.callData, op.callGasLimit, prefund, op.preVerificationGas + op.verificationGasLimit * times, op.maxFeePerGas);
    }

    function handle(Operation calldata op) internal {
        uint256 verification = uint128(bytes16(op.accountGasLimits));
        uint256 call = uint128(uint256(op.accountGasLimits));
        uint256 fixedGas = verification + op.preVerificationGas;
        if (op.paymasterAndData.length > 0) {
            fixedGas += uint128(bytes16(op.paymasterAndData[20:36])) + uint128(bytes16(op.paymasterAndData[36:52]));
        }
        uint256 fee = uint128(uint256(op.gasFees));
        uint256 prefund = (fixedGas + call) * fee;
        address from = payer(op.sender, op.paymasterAndData);
        uint256 missing = from != op.sender || balanceOf[from] >= prefund ? 0 : prefund - balanceOf[from];
        Account(payable(op.sender)).validateUserOp(op, 0, missing);
        finish(from, op.sender, op.callData, call, prefund, fixedGas, fee);
    }

    function handleOps(Operation06[] calldata ops, address payable) external { for (uint i; i < ops.length; i++) handle06(ops[i]); }

    function handleOps(Operation[] calldata ops, address payable) external { for (uint i; i < ops.length; i++) handle(ops[i]); }

    function handleAggregatedOps(Aggregated06[] calldata all, address payable) external {
        for (uint i; i < all.length; i++) for (uint j; j < all[i].userOps.length; j++) handle06(all[i].userOps[j]);
    }

    function handleAggregatedOps(Aggregated[] calldata all, address payable) external {
        for (uint i; i < all.length; i++) for (uint j; j < all[i].userOps.length; j++) handle(all[i].userOps[j]);
    }
}

// Token has every way to move money that some real token has. Slot 0 has the balances, slot 1 the allowances.
contract Token {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    function move(address from, address to, uint256 amount) internal { balanceOf[from] -= amount; balanceOf[to] += amount; }

    function use(address from, uint256 amount) internal {
        if (from != msg.sender && allowance[from][msg.sender] != type(uint256).max) allowance[from][msg.sender] -= amount;
    }

    function allow(address spender, uint256 amount) internal { allowance[msg.sender][spender] = amount; }

    modifier signed(address signer, bytes32 signature) { require(signature == bytes32(uint256(uint160(signer))), "signature"); _; }

    function transfer(address to, uint256 amount) public payable returns (bool) { move(msg.sender, to, amount); return true; }

    function transferFrom(address from, address to, uint256 amount) public returns (bool) { use(from, amount); move(from, to, amount); return true; }

    function approve(address spender, uint256 amount) public payable returns (bool) { allow(spender, amount); return true; }

    function increaseAllowance(address spender, uint256 by) public returns (bool) { allowance[msg.sender][spender] += by; return true; }

    function increaseApproval(address spender, uint256 by) public returns (bool) { allowance[msg.sender][spender] += by; return true; }

    function decreaseAllowance(address spender, uint256 by) public returns (bool) { allowance[msg.sender][spender] -= by; return true; }

    function decreaseApproval(address spender, uint256 by) public returns (bool) { allowance[msg.sender][spender] -= by; return true; }

    // EIP-2612, in both forms of its signature, and DAI's.
    function permit(address owner, address spender, uint256 amount, uint256, uint8, bytes32 r, bytes32) public signed(owner, r) { allowance[owner][spender] = amount; }

    function permit(address owner, address spender, uint256 amount, uint256, bytes calldata s) public signed(owner, bytes32(s)) { allowance[owner][spender] = amount; }

    function permit(address owner, address spender, uint256, uint256, bool on, uint8, bytes32 r, bytes32) public signed(owner, r) {
        allowance[owner][spender] = on ? type(uint256).max : 0;
    }

    // EIP-3009, in both forms of its signature.
    function transferWithAuthorization(address from, address to, uint256 amount, uint256, uint256, bytes32, uint8, bytes32 r, bytes32) public signed(from, r) { move(from, to, amount); }

    function transferWithAuthorization(address from, address to, uint256 amount, uint256, uint256, bytes32, bytes calldata s) public signed(from, bytes32(s)) { move(from, to, amount); }

    function receiveWithAuthorization(address from, address to, uint256 amount, uint256, uint256, bytes32, uint8, bytes32 r, bytes32) public signed(from, r) { move(from, to, amount); }

    function receiveWithAuthorization(address from, address to, uint256 amount, uint256, uint256, bytes32, bytes calldata s) public signed(from, bytes32(s)) { move(from, to, amount); }

    // ERC-677 and ERC-1363, without the calls.
    function transferAndCall(address to, uint256 amount) public { move(msg.sender, to, amount); }

    function transferAndCall(address to, uint256 amount, bytes calldata) public { move(msg.sender, to, amount); }

    function transferFromAndCall(address from, address to, uint256 amount) public { transferFrom(from, to, amount); }

    function transferFromAndCall(address from, address to, uint256 amount, bytes calldata) public { transferFrom(from, to, amount); }

    function approveAndCall(address spender, uint256 amount) public { allow(spender, amount); }

    function approveAndCall(address spender, uint256 amount, bytes calldata) public { allow(spender, amount); }

    // ERC-777, and burning.
    function send(address to, uint256 amount, bytes calldata) public { move(msg.sender, to, amount); }

    function operatorSend(address from, address to, uint256 amount, bytes calldata, bytes calldata) public { transferFrom(from, to, amount); }

    function authorizeOperator(address operator) public { allow(operator, type(uint256).max); }

    function burn(uint256 amount) public { move(msg.sender, address(0), amount); }

    function burn(uint256 amount, bytes calldata) public { move(msg.sender, address(0), amount); }

    function burnFrom(address from, uint256 amount) public { transferFrom(from, address(0), amount); }

    function operatorBurn(address from, uint256 amount, bytes calldata, bytes calldata) public { transferFrom(from, address(0), amount); }

    // What few tokens have: DSToken's, and one of its own.
    function push(address to, uint256 amount) public { move(msg.sender, to, amount); }

    function move_(address from, address to, uint256 amount) public { transferFrom(from, to, amount); }

    function sweep(address to) public { move(msg.sender, to, balanceOf[msg.sender]); }

    function approve(address spender) public { allow(spender, type(uint256).max); }

    function multicall(bytes[] calldata calls) public { for (uint i; i < calls.length; i++) again(calls[i]); }

    function multicall(uint256, bytes[] calldata calls) public { for (uint i; i < calls.length; i++) again(calls[i]); }

    function again(bytes calldata data) internal {
        (bool ok, ) = address(this).delegatecall(data);
        require(ok, "multicall");
    }

    // WETH9.
    receive() external payable { balanceOf[msg.sender] += msg.value; }

    function deposit() public payable { balanceOf[msg.sender] += msg.value; }

    function withdraw(uint256 amount) public {
        balanceOf[msg.sender] -= amount;
        (bool ok, ) = msg.sender.call{value: amount}("");
        require(ok, "withdraw");
    }
}
