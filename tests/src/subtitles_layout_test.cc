// Subtitles laid out by rule: what never breaks, whatever the words, and where the sense wants its breaks.
#include "src/subtitles/layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "models/utf8.h"
#include "src/subtitles/columns.h"
#include "src/subtitles/cue_times.h"
#include "src/subtitles/optimise.h"

using namespace sotto;

namespace {

Transcript spoken(const std::vector<std::string>& words, double word_s = 0.3, std::string language = "en") {
  Transcript t;
  t.language = std::move(language);
  Segment& segment = t.segments.emplace_back();
  double at_s = 0;
  for (const std::string& word : words) {
    segment.words.push_back({at_s, at_s + word_s, word, 1});
    segment.text += word;
    at_s += word_s;
  }
  segment.end_s = t.duration_s = at_s;
  return t;
}

// Words at spaces; a word's time goes by its length.
Transcript said(const std::string& text, const std::string& language = "en", double characters_per_s = 14) {
  Transcript t;
  t.language = language;
  Segment& segment = t.segments.emplace_back();
  segment.text = text;
  double at_s = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin + 1), text.size());
    const std::string word = text.substr(begin, end - begin);
    const double word_s = size_of(word).graphemes / characters_per_s;
    segment.words.push_back({at_s, at_s + word_s, word, 1});
    at_s += word_s;
    begin = end;
  }
  segment.end_s = t.duration_s = at_s;
  return t;
}

std::vector<std::string> texts(const std::vector<Cue>& cues) {
  std::vector<std::string> all;
  for (const Cue& cue : cues) all.push_back(text_of(cue));
  return all;
}

std::string without_spaces(const std::string& text) {
  std::string bare;
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = first_character(rest);
    if (!is_white_space(character.code) && character.code >= 0x20) bare += rest.substr(0, character.length);
    rest.remove_prefix(character.length);
  }
  return bare;
}

// Every hard rule. The gap and the end of the sound only where the sound is long enough for that many cues.
void check_hard_rules(const Transcript& t, const std::vector<Cue>& cues, const SubtitleOptions& options) {
  const SubtitleStyle style = resolve(options, t.language);
  const auto end_ms = static_cast<int64_t>(t.duration_s * 1000);
  const bool room = end_ms == 0 || end_ms >= static_cast<int64_t>(cues.size()) * (style.gap_ms + 1);
  std::string shown, spoken;
  for (size_t i = 0; i < cues.size(); ++i) {
    const Cue& cue = cues[i];
    CAPTURE(i);
    CAPTURE(text_of(cue));
    CHECK(cue.start_ms >= 0);
    CHECK(cue.start_ms < cue.end_ms);
    CHECK(cue.end_ms - cue.start_ms <= style.max_ms);
    if (i > 0) CHECK(cue.start_ms >= cues[i - 1].end_ms + (room ? style.gap_ms : 0));
    if (end_ms > 0 && room) CHECK(cue.end_ms <= end_ms);
    CHECK(!cue.lines.empty());
    CHECK(static_cast<int>(cue.lines.size()) <= style.lines);
    for (const CueLine& line : cue.lines) {
      CHECK(!line.empty());
      CHECK(size_of(text_of(line)).columns <= style.columns);
      CHECK(strip(text_of(line)) == text_of(line));
    }
    shown += text_of(cue);
  }
  for (const Segment& segment : t.segments) spoken += segment.text;
  CHECK(without_spaces(shown) == without_spaces(spoken));
}

// Words of any kind in times of any kind.
Transcript anything(std::mt19937& random) {
  const std::vector<std::string> alphabet = {"a", "e", "n", "t", "ß", "й", "ع", "ש", "क", "ि", "字", "か", "ー", "。", "한",
                                             "ก", "ำ", "👩‍👩‍👧", "🇩🇪", "é", ".", ",", "\"", "-", "(", "?", "…", "<", "&", "5",
                                             "e\u0301\u0302"};
  const auto up_to = [&](int n) { return static_cast<int>(random() % (n + 1)); };
  Transcript t;
  t.language = std::vector<std::string>{"en", "de", "zh", "ja", "ko", "th", "ar", "xx", ""}[up_to(8)];
  double at_s = up_to(3) == 0 ? 0 : up_to(400000);
  const double word_s = std::vector<double>{0, 0.01, 0.2, 0.4, 3, 20}[up_to(5)];
  for (int s = up_to(8); s >= 0; --s) {
    Segment& segment = t.segments.emplace_back();
    segment.start_s = at_s;
    segment.speaker = std::vector<std::string>{"", "A", "B"}[up_to(2)];
    for (int w = up_to(30); w > 0; --w) {
      std::string word = up_to(4) > 0 ? " " : "";
      const int length = up_to(40) == 0 ? 150 : 1 + up_to(9);
      const bool plain = up_to(3) > 0;
      for (int i = 0; i < length; ++i) word += alphabet[up_to(plain ? 3 : static_cast<int>(alphabet.size()) - 1)];
      const double start_s = up_to(20) == 0 ? at_s - 2 : at_s;
      segment.words.push_back({start_s, start_s + word_s * up_to(100) / 50, word, 0.5f});
      segment.text += word;
      at_s += word_s * up_to(100) / 50 + (up_to(15) == 0 ? 2 : 0);
    }
    segment.end_s = at_s;
    if (up_to(5) == 0) segment.words.clear();
  }
  if (up_to(2) > 0) t.duration_s = at_s + up_to(1);
  return t;
}

}  // namespace

TEST_CASE("no hard rule is broken, whatever the words and the times") {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const Transcript t = anything(random);
    SubtitleOptions options{.style = std::vector<std::string>{"broadcast", "netflix", "bbc", "social", "plain"}[round % 5]};
    if (round % 5 == 1) options.columns = 2 + random() % 60;
    if (round % 7 == 1) options.lines = 1 + random() % 4;
    if (round % 3 == 1) options.max_s = 0.9 + random() % 9;
    if (round % 11 == 1) options.gap_frames = random() % 20;
    if (round % 9 == 1) options.fps = 10 + random() % 60;
    std::vector<int64_t> cuts_ms(random() % 20);
    for (int64_t& cut : cuts_ms) cut = static_cast<int64_t>(t.segments[0].start_s * 1000) + random() % 20000;
    std::ranges::sort(cuts_ms);
    check_hard_rules(t, lay_out(t, options, cuts_ms), options);
  }
}

TEST_CASE("a cue has one speaker") {
  Transcript t = said("Do you hear me? Yes, I do.");
  t.segments.push_back(t.segments[0]);
  t.segments[0].speaker = "left";
  t.segments[1].speaker = "right";
  for (Word& word : t.segments[1].words) word.start_s += 3, word.end_s += 3;
  t.segments[1].text = t.segments[1].text;
  t.duration_s += 3;
  const auto cues = lay_out(t, {});
  REQUIRE(cues.size() == 2);
  CHECK(cues[0].speaker == "left");
  CHECK(cues[1].speaker == "right");

  t = said("Forty-one columns of text fit into a line.");
  CHECK(lay_out(t, {})[0].lines.size() == 1);
  t.segments[0].speaker = "left";  // written before the text
  CHECK(lay_out(t, {})[0].lines.size() == 2);
}

TEST_CASE("breaks go behind sentences, then behind clauses, then before conjunctions and prepositions") {
  CHECK(texts(lay_out(said("He was not an ill-disposed young man. Unless to be rather cold-hearted is to be ill-disposed."),
                      {})) ==
        std::vector<std::string>{"He was not an ill-disposed young man.",
                                 "Unless to be rather cold-hearted\nis to be ill-disposed."});
  CHECK(texts(lay_out(said("When the morning came at last, nobody in the house was awake."), {})) ==
        std::vector<std::string>{"When the morning came at last,\nnobody in the house was awake."});
  CHECK(texts(lay_out(said("The old gardener planted seven trees behind the village church."), {})) ==
        std::vector<std::string>{"The old gardener planted seven trees\nbehind the village church."});
}

TEST_CASE("what belongs together stays together, in each language with a list") {
  struct Case {
    const char *language, *text, *parted;
  };
  const Case cases[] = {
      {"en", "Yesterday the committee gave a remarkable prize to the young Margaret Thatcher herself.", "the\n"},
      {"en", "A long and rather dull evening was what everybody expected of dear Mr. Woodhouse today.", "Mr.\n"},
      {"de", "Gestern hat der Ausschuss der Stadt einen bemerkenswerten Preis für das neue Rathaus verliehen.", "das\n"},
      {"fr", "Hier le comité de la ville a remis un prix remarquable à la jeune directrice du théâtre.", "la\n"},
      {"es", "Ayer el comité de la ciudad entregó un premio notable a la joven directora del teatro real.", "la\n"},
      {"it", "Ieri il comitato della città ha consegnato un premio notevole alla giovane direttrice.", "un\n"},
      {"pt", "Ontem o comitê da cidade entregou um prêmio notável à jovem diretora do teatro municipal.", "um\n"},
      {"nl", "Gisteren heeft het comité van de stad een opmerkelijke prijs aan de jonge directeur gegeven.", "de\n"},
      {"ru", "Вчера городской комитет вручил замечательную премию за работу в театре молодому директору.", "за\n"},
  };
  for (const Case& c : cases) {
    for (int columns = 20; columns <= 60; ++columns) {
      for (const Cue& cue : lay_out(said(c.text, c.language), {.style = "broadcast", .columns = columns})) {
        CAPTURE(columns);
        CAPTURE(text_of(cue));
        CHECK((text_of(cue) + "\n").find(std::string(" ") + c.parted) == std::string::npos);
      }
    }
  }
}

TEST_CASE("numbers, ordinals and the like stay with their noun, in each language with a list") {
  struct Case {
    const char *language, *text, *modifier;
  };
  const Case cases[] = {
      {"en", "The visitors were led by her brother to the same young gardener behind the old village church.", "young"},
      {"de", "Die Gäste wurden von ihrem Bruder am Morgen zu dem letzten Garten hinter der alten Kirche geführt.", "letzten"},
      {"fr", "Les visiteurs furent conduits par son frère vers le dernier jardin derrière une vieille église.", "dernier"},
      {"es", "Los visitantes fueron llevados por su hermano al otro jardín detrás de una iglesia del pueblo.", "otro"},
      {"it", "I visitatori furono condotti dal fratello verso un altro giardino dietro una chiesa del paese.", "altro"},
      {"pt", "Os visitantes foram levados pelo irmão dela para outro jardim atrás de uma igreja da aldeia.", "outro"},
      {"nl", "De bezoekers werden door haar broer naar de laatste tuin achter een oude kerk in het dorp gebracht.", "laatste"},
      {"ru", "Гостей её брат проводил сегодня утром через несколько садов за старой сельской церковью.", "несколько"},
  };
  for (const Case& c : cases)
    for (int columns = 26; columns <= 60; ++columns)
      for (const Cue& cue : lay_out(said(c.text, c.language), {.style = "broadcast", .columns = columns})) {
        CAPTURE(columns);
        CAPTURE(text_of(cue));
        CHECK((text_of(cue) + "\n").find(std::string(" ") + c.modifier + "\n") == std::string::npos);
      }
  CHECK(units_of(said("It was the first behind the wall."), 42)[4].break_cost < 1);  // no noun follows
}

TEST_CASE("a pronoun stays with its verb, and ends a phrase behind a preposition") {
  struct Case {
    const char *language, *object, *subject;  // the third word is the pronoun
  };
  const Case cases[] = {
      {"en", "Done for you ask nobody else here.", "Nobody knows you ask everybody else here."},
      {"de", "Alles für sie geht jetzt wieder gut.", "Morgens kommt sie geht aber bald wieder."},
      {"fr", "Tout pour vous reste comme prévu hier.", "Demain enfin vous restez comme prévu ici."},
      {"es", "Todo para ella queda igual que ayer.", "Mañana dice ella queda igual que ayer."},
      {"it", "Tutto per lei resta uguale a ieri.", "Domani dice lei resta uguale a ieri."},
      {"pt", "Tudo para ela fica igual a ontem.", "Amanhã diz ela fica igual a ontem."},
      {"nl", "Alles voor u blijft zoals gisteren hier.", "Morgen blijft u zitten zoals gisteren hier."},
  };
  for (const Case& c : cases) {
    CAPTURE(c.object);
    CHECK(units_of(said(c.object, c.language), 42)[3].break_cost <= 1);
    CHECK(units_of(said(c.subject, c.language), 42)[3].break_cost >= 3);
  }
}

TEST_CASE("a title without a mark ends where the next sentence begins") {
  CHECK(texts(lay_out(said("Chapter one of Pride and Prejudice This is a recording of LibriVox."), {})) ==
        std::vector<std::string>{"Chapter one of Pride and Prejudice\nThis is a recording of LibriVox."});
  const auto units = units_of(said("They told Queen Elizabeth I the truth."), 42);
  CHECK(units[4].break_cost > 1);  // the first, and not who speaks
}

std::ptrdiff_t sentences(const Transcript& t) {
  return std::ranges::count_if(units_of(t, 42), [](const Unit& unit) { return unit.begins_sentence; });
}

TEST_CASE("a sentence ends with its mark, whatever quotes close it and whether the mark stands alone") {
  for (const char* text : {"„Er kam nicht.“ Darauf gingen alle.", "»Er kam nicht!« Darauf gingen alle.",
                           "‚Er kam nicht?‘ Darauf gingen alle.", "›Er kam nicht.‹ Darauf gingen alle."})
    CHECK(sentences(said(text, "de")) == 2);
  CHECK(sentences(said("\"He did not come.\" Nobody did.")) == 2);
  CHECK(sentences(said("Il n'est pas venu ? Mais si !", "fr")) == 2);
  CHECK(sentences(said("Il a dit « non » à Marie.", "fr")) == 1);
  Transcript zh;  // a text without words: each character is one
  zh.language = "zh";
  zh.segments.push_back({.start_s = 0, .end_s = 4, .text = "今天天气非常好。我们去公园吧！"});
  CHECK(sentences(zh) == 2);
}

TEST_CASE("an ordinal with a point ends no sentence, in each language that writes them so") {
  struct Case {
    const char *language, *text, *ordinal;
  };
  const Case cases[] = {
      {"de", "Im 18. und 19. Jahrhundert wurden in der Stadt am 3. 10. und am 1. Mai große Feste gefeiert.", "19."},
      {"de", "Damals war in ganz Europa nach dem Sieg über Ludwig XIV. Frieden eingekehrt, wie man sagt.", "XIV."},
      {"bs", "U gradu se u drugoj polovini 19. stoljeća počelo graditi mnogo novih kuća i škola.", "19."},
      {"cs", "Ve městě se na přelomu 18. a 19. století stavělo mnoho domů, které po 2. Světové válce zmizely.", "2."},
      {"da", "I byen blev der i slutningen af det 19. århundrede bygget mange nye huse og skoler.", "19."},
      {"et", "Linnas ehitati juba 19. sajandi lõpus palju uusi maju ja koole, mis on alles ka täna.", "19."},
      {"eu", "Hirian etxe eta eskola asko eraiki ziren 19. mendearen amaieran eta hurrengo urteetan.", "19."},
      {"fi", "Kaupungissa rakennettiin jo 19. vuosisadan lopulla paljon uusia taloja ja kouluja.", "19."},
      {"hr", "U gradu se u drugoj polovici 19. stoljeća počelo graditi mnogo novih kuća i škola.", "19."},
      {"hu", "A városban már II. József idejében is sok házat építettek, a 19. században pedig többet.", "II."},
      {"is", "Í bænum voru mörg hús og skólar byggð þegar á síðari hluta 19. aldar og síðan fleiri.", "19."},
      {"lb", "An der Stad goufen um Enn vum 19. Joerhonnert vill nei Haiser a Schoule gebaut.", "19."},
      {"lv", "Pilsētā jau 19. gadsimta beigās un arī vēlāk uzcēla daudz jaunu māju un skolu.", "19."},
      {"no", "I byen ble det mot slutten av det 19. århundre bygget mange nye hus og skoler.", "19."},
      {"nn", "I byen vart det mot slutten av det 19. hundreåret bygd mange nye hus og skular.", "19."},
      {"pl", "W mieście dopiero po przybyciu 2. Armii Wojska Polskiego zaczęto budować nowe domy.", "2."},
      {"sk", "V meste sa na prelome 18. a 19. storočia stavalo veľa domov, ktoré po 2. Svetovej vojne zmizli.", "2."},
      {"sl", "V mestu so v drugi polovici 19. stoletja začeli graditi mnogo novih hiš in šol.", "19."},
      {"sr", "У граду се у другој половини 19. века почело градити много нових кућа и школа.", "19."},
      {"tr", "Şehirde daha 19. yüzyılda ve sonra 2. Dünya Savaşı yıllarında birçok yeni ev yapıldı.", "2."},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Transcript t = said(c.text, c.language);
    for (const Unit& unit : units_of(t, 42)) CHECK(unit.begins_sentence == (unit.word.start_ms == 0));
    for (int columns = 20; columns <= 60; ++columns)
      for (const Cue& cue : lay_out(t, {.style = "broadcast", .columns = columns})) {
        CAPTURE(text_of(cue));
        CHECK((text_of(cue) + "\n").find(std::string(" ") + c.ordinal + "\n") == std::string::npos);
      }
  }

  CHECK(sentences(said("Das war 1990. Darauf ging es weiter.", "de")) == 2);       // a year
  CHECK(sentences(said("Wir waren nur 19. Die anderen fehlten.", "de")) == 2);     // a word that begins sentences
  CHECK(sentences(said("Er nahm das Buch „19.“ Darauf ging er.", "de")) == 2);     // what is quoted is whole
  CHECK(sentences(said("It was number 19. Nobody saw the others.", "en")) == 2);   // 19th
  Transcript t = said("Wir waren nur 19. Daraufhin ging es weiter.", "de");
  CHECK(sentences(t) == 1);
  for (Word& word : std::span(t.segments[0].words).subspan(4)) word.start_s += 0.3, word.end_s += 0.3;
  CHECK(sentences(t) == 2);  // a pause
  t = said("Wir waren nur 19. Daraufhin ging es weiter.", "de");
  t.segments.push_back(t.segments[0]);
  t.segments[0].words.resize(4);
  t.segments[1].words.erase(t.segments[1].words.begin(), t.segments[1].words.begin() + 4);
  CHECK(sentences(t) == 2);  // the model ended a segment there
}

TEST_CASE("two lines are about as long as each other") {
  const auto cues = lay_out(said("one two three four five six seven eight nine ten"), {});
  CHECK(texts(cues) == std::vector<std::string>{"one two three four five\nsix seven eight nine ten"});
}

TEST_CASE("times: with the voice, long enough to be read, never into the gap; small gaps are closed") {
  Transcript t = said("Go on. Nobody will see you, I promise.");
  for (size_t i = 2; i < t.segments[0].words.size(); ++i) {  // 2 s between the sentences
    t.segments[0].words[i].start_s += 2;
    t.segments[0].words[i].end_s += 2;
  }
  t.duration_s = 60;
  const auto cues = lay_out(t, {});
  REQUIRE(cues.size() == 2);
  CHECK(cues[0].start_ms == 0);
  CHECK(cues[0].end_ms == 834);  // 5/6 s, though the voice needs less
  CHECK(cues[1].start_ms == 2429);
  CHECK(cues[1].end_ms - cues[1].start_ms >= 31 * 1000 / 17);

  for (size_t i = 2; i < t.segments[0].words.size(); ++i) {  // 0.8 s: 0.3 s would be left
    t.segments[0].words[i].start_s -= 1.2;
    t.segments[0].words[i].end_s -= 1.2;
  }
  const auto closer = lay_out(t, {.style = "broadcast", .columns = 31, .lines = 1});
  REQUIRE(closer.size() == 2);
  CHECK(closer[0].end_ms == closer[1].start_ms - 80);  // two frames of 25 a second
  CHECK(lay_out(t, {.style = "broadcast", .columns = 31, .lines = 1, .fps = 50})[0].end_ms == closer[1].start_ms - 40);
}

TEST_CASE("a cue too fast to read takes what its neighbours can spare, up to three frames") {
  const auto cue = [](int64_t start_ms, int64_t end_ms, const std::string& text, int64_t voice_end_ms) {
    return Cue{start_ms, end_ms, {{{start_ms, voice_end_ms, text}}}, ""};
  };
  const std::vector<Cue> cues = {cue(0, 2000, "Go on.", 500), cue(2080, 4000, "Nobody will ever see you, I promise.", 4000),
                                 cue(4080, 7000, "Yes.", 4500)};  // 36 characters want 2118 ms
  const SubtitleStyle style = resolve({}, "en");
  std::vector<Cue> lent = cues;
  lend_time(lent, style, {});
  CHECK(lent[0].end_ms == 1880);
  CHECK(lent[1].start_ms == 1960);
  CHECK(lent[1].end_ms == 4078);
  CHECK(lent[2].start_ms == 4158);
  lent = cues;
  const std::vector<int64_t> cut = {2080};  // of the picture, at which a cue stays
  lend_time(lent, style, cut);
  CHECK(lent[1].start_ms == 2080);
  CHECK(lent[1].end_ms == 4120);
  lent = cues;
  lent[0].lines[0][0].end_ms = 2000;  // the voice before it goes on, the one after it has too little time itself
  lent[2].end_ms = 4900;
  lend_time(lent, style, {});
  CHECK(lent[1].start_ms == 2080);
  CHECK(lent[1].end_ms == 4000);
}

TEST_CASE("cuts of the picture: a cue begins at one that is near, and ends two frames before one") {
  Transcript t = said("Nobody was there to see it happen.");
  for (Word& word : t.segments[0].words) word.start_s += 1.2, word.end_s += 1.2;
  t.duration_s = 60;
  const std::vector<int64_t> cuts_ms = {1000, 3900};
  const auto cues = lay_out(t, {}, cuts_ms);
  REQUIRE(cues.size() == 1);
  CHECK(cues[0].start_ms == 1000);
  CHECK(cues[0].end_ms == 3820);
  CHECK(lay_out(t, {}, std::vector<int64_t>{100, 9000})[0].start_ms == 1200);
}

TEST_CASE("scripts without spaces: full-width columns, no line that begins with what can't begin one") {
  std::vector<std::string> words;
  for (const char* word : {"今天", "的", "天气", "非常", "好", "，", "我们", "一起", "去", "公园", "散步", "吧", "。", "然后",
                           "回家", "吃", "晚饭", "，", "再", "看", "一", "部", "电影", "。"})
    words.push_back(word);
  const Transcript zh = spoken(words, 0.25, "zh");
  for (const Cue& cue : lay_out(zh, {}))
    for (const CueLine& line : cue.lines) {
      CHECK(size_of(text_of(line)).columns <= 32);
      CHECK_FALSE(text_of(line).starts_with("，"));
      CHECK_FALSE(text_of(line).starts_with("。"));
    }
  CHECK(resolve({}, "ja").columns == 26);
  CHECK(resolve({}, "ko").columns == 32);
  const Transcript thai = said("สวัสดีครับ ผมชื่อสมชาย ยินดีที่ได้รู้จัก วันนี้อากาศดีมาก เราไปเดินเล่นกันไหม", "th");
  CHECK(lay_out(thai, {}).size() <= 3);
}

TEST_CASE("columns are counted by grapheme") {
  CHECK(size_of("e\u0301").columns == 1);
  CHECK(size_of("👩‍👩‍👧‍👦").columns == 2);
  CHECK(size_of("👩‍👩‍👧‍👦").graphemes == 1);
  CHECK(size_of("🇩🇪🇫🇷").columns == 4);
  CHECK(size_of("🇩🇪🇫🇷").graphemes == 2);
  CHECK(size_of("❤️").columns == 2);
  CHECK(size_of("日本").columns == 4);
  CHECK(size_of("한국").columns == 4);
  CHECK(size_of("नमस्ते").columns <= 6);
  CHECK(size_of("\u200Fשלום").graphemes <= 5);
}

TEST_CASE("nothing to show: no cue") {
  CHECK(lay_out({}, {}).empty());
  CHECK(lay_out(spoken({}), {}).empty());
  CHECK(lay_out(spoken({" ", "", " \t"}), {}).empty());
  CHECK(lay_out({}, {.style = "plain"}).empty());
  CHECK(lay_out({}, {.style = "whisper"}).empty());
}

TEST_CASE("hours over 99 and words with the whole file's length") {
  Transcript t = said("This is late.");
  for (Word& word : t.segments[0].words) word.start_s += 360000, word.end_s += 360000;
  t.duration_s = 360010;
  CHECK(lay_out(t, {})[0].start_ms == 360000000);
  t.segments[0].words[0].start_s = 0;  // one word of a hundred hours
  check_hard_rules(t, lay_out(t, {}), {});
}

TEST_CASE("the best layout costs less than filling lines, and 100,000 words take less than a second") {
  std::mt19937 random(5);
  const std::vector<std::string> vocabulary = {" the", " of", " and", " house", " in", " remarkable", " he", " went,", " was",
                                               " gone.", " a", " committee", " to", " Margaret", " Thatcher", " without"};
  std::vector<std::string> words(100000);
  for (std::string& word : words) word = vocabulary[random() % vocabulary.size()];
  const Transcript t = spoken(words, 0.35);
  const std::clock_t start = std::clock();  // of the processor's time, whoever else wants some of it
  const auto cues = lay_out(t, {});
  const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  MESSAGE(static_cast<int>(100000 / took_s) << " words a second");
  CHECK(took_s < 8);  // a quarter of a second in a Release build; sanitizers take their time

  const SubtitleStyle style = resolve({}, "en");
  std::vector<Unit> units = units_of(t, style.columns);
  CueCosts costs(units, style, {}, INT64_MAX);
  const auto best = best_cue_ends(costs, static_cast<int>(units.size()));
  std::vector<int> filled;  // as many words as two lines take
  for (int begin = 0; begin < static_cast<int>(units.size());) {
    costs.begin_at(begin);
    int end = costs.last_end();
    while (end > begin + 1 && costs(end) >= 20) --end;
    filled.push_back(end);
    begin = end;
  }
  const double best_cost = cost_of(costs, best), filled_cost = cost_of(costs, filled);
  MESSAGE("cost of a cue: " << best_cost / best.size() << ", filled: " << filled_cost / filled.size());
  CHECK(best_cost < 0.7 * filled_cost);
}
