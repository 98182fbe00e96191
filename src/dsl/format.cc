#include "dsl/format.h"

#include <algorithm>
#include <vector>

#include "dsl/lexer.h"
#include "dsl/parser.h"

namespace scratchy {
namespace {

constexpr size_t kIndent = 4;

// What a token is in its place, where its kind alone doesn't tell.
enum class Role : uint8_t { kPlain, kBlock, kRecord, kIndexBracket, kCallParen, kUnary, kRecordColon };

struct Piece {
  Token token;
  Role role = Role::kPlain;
  size_t match = 0;  // of an opening bracket: its closing one, and the other way round
};

bool opens(TokenKind kind) { return kind == TokenKind::kLeftParen || kind == TokenKind::kLeftBracket || kind == TokenKind::kLeftBrace; }
bool closes(TokenKind kind) { return kind == TokenKind::kRightParen || kind == TokenKind::kRightBracket || kind == TokenKind::kRightBrace; }

// Whether a token can be the last one of an expression.
bool ends_expression(TokenKind kind) {
  return closes(kind) || kind == TokenKind::kName || kind == TokenKind::kInt || kind == TokenKind::kFloat || kind == TokenKind::kString ||
         kind == TokenKind::kTrue || kind == TokenKind::kFalse || kind == TokenKind::kNone;
}

// Gives each token its role. `texts` parse, so brackets match.
std::vector<Piece> pieces_of(const std::vector<Token>& tokens) {
  std::vector<Piece> out;
  std::vector<size_t> open;
  std::vector<int> choices = {0};  // `?` without its `:`, per open bracket
  TokenKind before = TokenKind::kSemicolon;
  for (const Token& token : tokens) {
    if (token.kind == TokenKind::kEnd) break;
    Piece piece{token};
    const bool value_before = ends_expression(before);
    if (token.kind == TokenKind::kLeftBrace) piece.role = value_before || before == TokenKind::kElse ? Role::kBlock : Role::kRecord;
    if (token.kind == TokenKind::kLeftBracket && value_before) piece.role = Role::kIndexBracket;
    if (token.kind == TokenKind::kLeftParen && (before == TokenKind::kName || before == TokenKind::kAssert)) piece.role = Role::kCallParen;
    if (token.kind == TokenKind::kMinus && !value_before) piece.role = Role::kUnary;
    if (token.kind == TokenKind::kNot) piece.role = Role::kUnary;
    if (token.kind == TokenKind::kQuestion) ++choices.back();
    if (token.kind == TokenKind::kColon && choices.back()-- == 0) {
      piece.role = Role::kRecordColon;
      choices.back() = 0;
    }
    if (opens(token.kind)) {
      open.push_back(out.size());
      choices.push_back(0);
    } else if (closes(token.kind) && !open.empty()) {
      piece.match = open.back();
      piece.role = out[open.back()].role;
      out[open.back()].match = out.size();
      open.pop_back();
      choices.pop_back();
    }
    out.push_back(piece);
    if (token.kind != TokenKind::kComment) before = token.kind;
  }
  return out;
}

// Whether a space stands between neighbours on one line.
bool spaced(const Piece& a, const Piece& b) {
  const TokenKind left = a.token.kind, right = b.token.kind;
  if (left == TokenKind::kDot || right == TokenKind::kDot) return false;
  if (right == TokenKind::kComma || right == TokenKind::kSemicolon || b.role == Role::kRecordColon) return false;
  if (left == TokenKind::kLeftBrace && right == TokenKind::kRightBrace) return false;
  if (b.role == Role::kBlock || (a.role == Role::kBlock && left == TokenKind::kLeftBrace)) return true;
  if (opens(left) || closes(right) || a.role == Role::kUnary) return false;
  if (left == TokenKind::kComma) return true;
  if (left == TokenKind::kDotDot || right == TokenKind::kDotDot) return false;
  return b.role != Role::kIndexBracket && b.role != Role::kCallParen;
}

class Formatter {
 public:
  Formatter(const SourceFile& file, std::vector<Piece> pieces) : file_(file), pieces_(std::move(pieces)) {}

  std::string run() {
    for (size_t i = 0; i < pieces_.size(); ++i) put(i);
    if (!out_.empty()) out_ += "\n";
    return std::move(out_);
  }

 private:
  struct Open {
    bool block;
    bool flat;        // a block on one line
    size_t column;    // where a line inside of it begins
    size_t outer;     // where the line it stands in begins
  };

  std::string text(const Piece& piece) const {
    std::string out(piece.token.text(file_));
    std::replace(out.begin(), out.end(), '\t', ' ');
    return out;
  }

  // Line breaks of the source before piece i.
  size_t breaks_before(size_t i) const {
    const uint32_t from = i == 0 ? 0 : pieces_[i - 1].token.span.end;
    const auto begin = file_.text.begin() + from;
    return static_cast<size_t>(std::count(begin, file_.text.begin() + pieces_[i].token.span.begin, '\n'));
  }

  size_t column() const {
    const size_t line = out_.rfind('\n');
    return out_.size() - (line == std::string::npos ? 0 : line + 1);
  }

  // Where the line being written begins.
  size_t line_indent() const {
    const size_t line = out_.rfind('\n');
    const size_t begin = line == std::string::npos ? 0 : line + 1;
    const size_t first = out_.find_first_not_of(' ', begin);
    return (first == std::string::npos ? out_.size() : first) - begin;
  }

  void new_line(size_t indent, bool blank) {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    out_ += blank ? "\n\n" : "\n";
    out_ += std::string(indent, ' ');
  }

  // Whether the block that piece i opens was on one line and fits there.
  bool fits_flat(size_t i) const {
    size_t length = column() + 1;
    for (size_t j = i; j <= pieces_[i].match; ++j) {
      if (pieces_[j].token.kind == TokenKind::kComment || (j > i && breaks_before(j) > 0)) return false;
      length += (j > i && spaced(pieces_[j - 1], pieces_[j]) ? 1 : 0) + pieces_[j].token.text(file_).size();
    }
    return length <= kMaxColumns;
  }

  size_t block_indent() const { return stack_.empty() ? 0 : stack_.back().column; }
  bool in_brackets() const { return !stack_.empty() && !stack_.back().block; }
  bool in_flat() const { return !stack_.empty() && stack_.back().block && stack_.back().flat; }

  // Begins the line or the gap that piece i stands behind.
  void gap(size_t i) {
    if (i == 0) return;
    const Piece &before = pieces_[i - 1], &piece = pieces_[i];
    const size_t breaks = breaks_before(i);
    const bool comment = piece.token.kind == TokenKind::kComment;
    if (comment && breaks == 0) {
      out_ += "  ";
      return;
    }
    const bool closing = closes(piece.token.kind);
    const bool closes_block = closing && piece.role == Role::kBlock;
    if (closes_block && !stack_.back().flat && before.token.kind != TokenKind::kLeftBrace) return new_line(stack_.back().outer, false);
    if (needs_line_ && !(closes_block && before.token.kind == TokenKind::kLeftBrace)) {
      const bool after_open = before.token.kind == TokenKind::kLeftBrace && before.role == Role::kBlock;
      return new_line(block_indent(), breaks > 1 && !after_open);
    }
    const bool else_follows = piece.token.kind == TokenKind::kElse && before.token.kind == TokenKind::kRightBrace;
    const bool block_follows = piece.token.kind == TokenKind::kLeftBrace && piece.role == Role::kBlock;
    const bool must = before.token.kind == TokenKind::kComment;
    if (must || (breaks > 0 && !in_flat() && !else_follows && !block_follows && piece.token.kind != TokenKind::kSemicolon)) {
      if (in_brackets()) return new_line(closing ? stack_.back().outer : stack_.back().column, false);
      return new_line(block_indent() + (statement_open_ ? kIndent : 0), false);
    }
    if (spaced(before, piece)) out_ += " ";
  }

  void put(size_t i) {
    const Piece& piece = pieces_[i];
    const TokenKind kind = piece.token.kind;
    gap(i);
    const bool block_open = kind == TokenKind::kLeftBrace && piece.role == Role::kBlock;
    const bool block_close = kind == TokenKind::kRightBrace && piece.role == Role::kBlock;
    const bool comment = kind == TokenKind::kComment;
    if (!comment || breaks_before(i) > 0) needs_line_ = needs_line_ && comment;
    if (opens(kind)) {
      const bool flat = block_open && (in_flat() || fits_flat(i));
      out_ += text(piece);
      const bool hangs = i + 1 < pieces_.size() && breaks_before(i + 1) > 0;
      const size_t inside = block_open ? (in_brackets() ? line_indent() : block_indent()) + kIndent : hangs ? line_indent() + kIndent : column();
      stack_.push_back({block_open, flat, inside, block_open && !in_brackets() ? block_indent() : line_indent()});
      if (block_open) statement_open_ = false;
      needs_line_ = block_open && !flat;
      return;
    }
    out_ += text(piece);
    if (closes(kind) && !stack_.empty()) stack_.pop_back();
    if (comment) return;
    statement_open_ = !(kind == TokenKind::kSemicolon && !in_brackets()) && kind != TokenKind::kForwardAttribute;
    if (block_close) finish_block(i);
    if (!statement_open_ && !in_flat()) needs_line_ = true;
  }

  // Behind the `}` of a block: a scan's goes on, another's ends its statement unless `else` follows.
  void finish_block(size_t i) {
    size_t next = i + 1;
    while (next < pieces_.size() && pieces_[next].token.kind == TokenKind::kComment) ++next;
    const bool goes_on = next < pieces_.size() && (pieces_[next].token.kind == TokenKind::kElse || is_scan_[i] || in_brackets());
    statement_open_ = goes_on;
  }

 public:
  // Marks the blocks of scans: those behind `as [..]`.
  void mark_scans() {
    is_scan_.assign(pieces_.size(), false);
    for (size_t i = 1; i < pieces_.size(); ++i) {
      if (pieces_[i].token.kind != TokenKind::kLeftBrace || pieces_[i].role != Role::kBlock) continue;
      size_t before = i - 1;
      while (before > 0 && pieces_[before].token.kind == TokenKind::kComment) --before;
      if (pieces_[before].token.kind != TokenKind::kRightBracket) continue;
      size_t as = pieces_[before].match;
      while (as > 0 && pieces_[as - 1].token.kind == TokenKind::kComment) --as;
      is_scan_[pieces_[i].match] = as > 0 && pieces_[as - 1].token.kind == TokenKind::kAs;
    }
  }

 private:
  const SourceFile& file_;
  std::vector<Piece> pieces_;
  std::vector<bool> is_scan_;
  std::vector<Open> stack_;
  std::string out_;
  bool needs_line_ = true;       // the next token begins a line
  bool statement_open_ = false;  // a break now is one inside of a statement
};

}  // namespace

std::optional<std::string> format(const SourceFile& file, Diagnostics& diagnostics) {
  const size_t before = diagnostics.size();
  parse(file, diagnostics);
  if (diagnostics.size() != before) return std::nullopt;
  Formatter formatter(file, pieces_of(lex(file, true, diagnostics)));
  formatter.mark_scans();
  return formatter.run();
}

}  // namespace scratchy
