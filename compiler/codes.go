package compiler

import (
	"slices"

	"bailiff/grammar"
)

// The codes of this package's diagnostics. Codes are never used again for anything else.
const (
	CodeUnknownKey          grammar.Code = "E2001"
	CodeKeyVersion          grammar.Code = "E2002"
	CodeKeyUnsupported      grammar.Code = "E2003"
	CodeKeyForm             grammar.Code = "E2005"
	CodeValueForm           grammar.Code = "E2006"
	CodeSectionVersion      grammar.Code = "E2007"
	CodeOnlyShimFalse       grammar.Code = "E2008"
	CodeWord                grammar.Code = "E2009"
	CodeBoolean             grammar.Code = "E2010"
	CodeDecimal             grammar.Code = "E2011"
	CodeNotPositive         grammar.Code = "E2012"
	CodeFraction            grammar.Code = "E2013"
	CodeInteger             grammar.Code = "E2014"
	CodeBooleanLetters      grammar.Code = "E2015"
	CodeAction              grammar.Code = "E2020"
	CodeActionWildcard      grammar.Code = "E2021"
	CodeActionKind          grammar.Code = "E2022"
	CodeChainID             grammar.Code = "E2024"
	CodeSecondChain         grammar.Code = "E2025"
	CodeSymbol              grammar.Code = "E2030"
	CodeSymbolCase          grammar.Code = "E2031"
	CodeTokenIncomplete     grammar.Code = "E2032"
	CodeAddress             grammar.Code = "E2033"
	CodeChecksum            grammar.Code = "E2034"
	CodePinnedTwice         grammar.Code = "E2035"
	CodeSelectorUnused      grammar.Code = "E2036"
	CodeMethod              grammar.Code = "E2037"
	CodeTokenUnknown        grammar.Code = "E2038"
	CodeEVMGrantsNothing    grammar.Code = "E2040"
	CodeToolsGrantNothing   grammar.Code = "E2041"
	CodeEnforcesNothing     grammar.Code = "E2042"
	CodeMCPGrantsNothing    grammar.Code = "E2043"
	CodeAllowedBlocked      grammar.Code = "E2044"
	CodeServer              grammar.Code = "E2045"
	CodeToolPattern         grammar.Code = "E2046"
	CodeClientName          grammar.Code = "E2047"
	CodeBlockedCommand      grammar.Code = "E2050"
	CodeBlockedDomain       grammar.Code = "E2051"
	CodeBlockedPath         grammar.Code = "E2052"
	CodeRecipient           grammar.Code = "E2053"
	CodeAllowedHost         grammar.Code = "E2054"
	CodeListQuoted          grammar.Code = "E2055"
	CodeListMarks           grammar.Code = "E2056"
	CodeListSeparator       grammar.Code = "E2057"
	CodePlaceholder         grammar.Code = "E2058"
	CodeSlashComment        grammar.Code = "E2059"
	CodePathField           grammar.Code = "E2060"
	CodePathObject          grammar.Code = "E2061"
	CodeOperator            grammar.Code = "E2062"
	CodeMixedOperators      grammar.Code = "E2063"
	CodeAttestedPath        grammar.Code = "E2064"
	CodePatternLong         grammar.Code = "E2065"
	CodePatternSyntax       grammar.Code = "E2066"
	CodePatternCostly       grammar.Code = "E2067"
	CodePatternCut          grammar.Code = "E2068"
	CodeEmptyValue          grammar.Code = "E2069"
	CodeActionPattern       grammar.Code = "E2070"
	CodeTextLong            grammar.Code = "E2071"
	CodeFieldPath           grammar.Code = "E2072"
	CodeCapName             grammar.Code = "E2073"
	CodeCapIncomplete       grammar.Code = "E2074"
	CodeCapForm             grammar.Code = "E2075"
	CodeCapAmount           grammar.Code = "E2076"
	CodeTooLarge            grammar.Code = "E2080"
	CodeMemory              grammar.Code = "E2081"
	CodeEffort              grammar.Code = "E2082"
	CodeCompileTime         grammar.Code = "E2083"
	CodeJSONString          grammar.Code = "E2090"
	CodeTime                grammar.Code = "E2091"
	CodeIdentifier          grammar.Code = "E2092"
	CodeConfidence          grammar.Code = "E2093"
	CodeResponseUncovered   grammar.Code = "E2094"
	CodeResponseTool        grammar.Code = "E2095"
	CodeResponseRuleset     grammar.Code = "E2096"
	CodeAllowedPath         grammar.Code = "E2097"
	CodeAllowedCommand      grammar.Code = "E2098"
	CodeKeyID               grammar.Code = "E2110"
	CodeEveryKey            grammar.Code = "E2111"
	CodePassesTools         grammar.Code = "W2001"
	CodeNoNativeMaximum     grammar.Code = "W2002"
	CodeTokenUnpinned       grammar.Code = "W2003"
	CodeHoldImplied         grammar.Code = "W2004"
	CodeHoldUseless         grammar.Code = "W2005"
	CodeChainUnknown        grammar.Code = "W2006"
	CodeChainActionsUnused  grammar.Code = "W2007"
	CodeRepeatedItem        grammar.Code = "W2008"
	CodeThresholdUnreached  grammar.Code = "W2009"
	CodeEmptySection        grammar.Code = "W2010"
	CodeListUnused          grammar.Code = "W2011"
	CodeGrantsOtherKind     grammar.Code = "W2012"
	CodeChainWithoutActions grammar.Code = "W2013"
	CodeCurlyQuotes         grammar.Code = "W2014"
	CodeCommaInText         grammar.Code = "W2015"
	CodeLiteralStar         grammar.Code = "W2016"
	CodeNumberForm          grammar.Code = "W2017"
	CodeNearAction          grammar.Code = "W2018"
	CodeLimitUnused         grammar.Code = "W2019"
	CodeCaseRepeated        grammar.Code = "W2020"
	CodeCovered             grammar.Code = "W2021"
	CodeDeadValue           grammar.Code = "W2022"
	CodeBlockedOnly         grammar.Code = "W2023"
	CodeCapUnused           grammar.Code = "W2024"
	CodeSymbolDecimals      grammar.Code = "W2025"
	CodeNeverMatches        grammar.Code = "W2026"
	CodeGrantsEverything    grammar.Code = "W2027"
	CodePlainPattern        grammar.Code = "W2028"
	CodeApprovalUnused      grammar.Code = "W2029"
	CodeMethodUnused        grammar.Code = "W2030"
	CodeInformational       grammar.Code = "W2031"
	CodeResponseUnused      grammar.Code = "W2032"
	CodeResponseTwice       grammar.Code = "W2033"
	CodeActionPrefix        grammar.Code = "W2034"
	CodeEnrichmentUnpinned  grammar.Code = "W2035"
	CodeListBrackets        grammar.Code = "W2036"
	CodeAllowedDead         grammar.Code = "W2037"
	CodeFetchHasNoMethod    grammar.Code = "W2038"
	CodeNotDivided          grammar.Code = "W2040"
	CodeLiteralWildcard     grammar.Code = "W2041"
	CodeServerNotAllowed    grammar.Code = "W2042"
	CodeWei                 grammar.Code = "W2043"
	CodeSignBehindColon     grammar.Code = "W2044"
	CodePinOnAllChains      grammar.Code = "W2045"
	CodePinUnused           grammar.Code = "W2046"
	CodeMethodsUnused       grammar.Code = "W2047"
	CodeAccountCalls        grammar.Code = "W2048"
	CodeOpenCalls           grammar.Code = "W2049"
	CodeFeesUnlimited       grammar.Code = "W2050"
	CodeNoRealMaximum       grammar.Code = "W2051"
	CodeTokenBase           grammar.Code = "W2052"
	CodeCommandWords        grammar.Code = "W2053"
	CodeTextMarks           grammar.Code = "W2054"
	CodeFlagOrder           grammar.Code = "W2055"
	CodeResponseElsewhere   grammar.Code = "W2060"
	CodeNegatedItem         grammar.Code = "W2061"
	CodeContentsUnseen      grammar.Code = "W2062"
	CodeRunsOthers          grammar.Code = "W2063"
	CodeAmountPart          grammar.Code = "W2070"
	CodeSpendOfHooks        grammar.Code = "N2001"
)

// Codes returns the table of this package's codes, in order.
func Codes() []grammar.CodeInfo { return slices.Clone(codes) }

var codes = slices.Concat(errorCodes, profileErrors, warningCodes, profileWarnings)

// The small policies of the table: what the lines need around them, and the lines at their end.

func evmPolicy(lines string) string {
	return "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\n" + ended(lines)
}

// feePolicy is evmPolicy in version 2.4, which can limit fees.
func feePolicy(lines string) string {
	return "version: 2.4.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\nmax_fee_eth: 0.01\n" + ended(lines)
}

func toolPolicy(lines string) string {
	return "version: 2.0.0\n## tool_calls\nallowed: bash\n" + ended(lines)
}

func deploymentPolicy(lines string) string {
	return "version: 2.4.0\n## tool_calls\nallowed: bash\n## deployment\n" + ended(lines)
}

func customPolicy(lines string) string { return "version: 2.0.0\n## custom\n" + ended(lines) }

func mcpPolicy(lines string) string {
	return "version: 2.0.0\n## mcp\nallowed_servers: files\n" + ended(lines)
}

func softPolicy(lines string) string { return toolPolicy("## soft_limits\n" + lines) }

func responsePolicy(lines string) string {
	return "version: 2.3.0\n## mcp\nallowed_tools: api.call\nresponse.http_tools: api.call\nresponse.deterministic_ruleset: sof-response-rules-v1\n" + ended(lines)
}

// ended returns lines with the end of the last one.
func ended(lines string) string {
	if lines == "" {
		return ""
	}
	return lines + "\n"
}
